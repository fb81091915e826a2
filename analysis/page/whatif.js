/*
 * whatif.js - the critical path if components took less
 *
 * With factors f of the time of components, the path is the longest over all paths p of a sum that is
 * linear in each f. So it is convex along any straight line in f, and the report has two of its facts: the
 * path without a component, L - saved, and the component's share H of the path as it is. From these follows
 * what the path is at least and at most; between them no single number is right.
 */

const SLIDERS_MOST = 10;

/*
 * [least, most] length of the path with @changes: [component, factor] each. At least: the path as it was, with
 * its pieces shortened (pieces may overlap, so all are taken off), and never below what removing all of the
 * components could leave. At most: the path is convex, so below the chord from L to L - saved; of several
 * changes the best single one.
 */
function pathRange(changes) {
	const whole = report.program.critical_path_s;
	let tangent = 0, floor = 0, chord = 0;
	for (const [component, factor] of changes) {
		const off = 1 - factor;
		tangent += off * component.critical_path_s;
		floor += component.saved_s;
		chord = Math.max(chord, off * component.saved_s);
	}
	/* Of one component zeroing is exact; of several, savings may be more than their sum. */
	const least = whole - (changes.length === 1 ? Math.min(tangent, floor) : tangent);
	return [Math.max(0, Math.min(least, whole - chord)), whole - chord];
}

/* Replays of the journal on one number of cores; null without a journal. */
function replayOf(cores) {
	return data.replays ? data.replays.find((each) => each.predictions[0].cores === cores) || null : null;
}

/* The replayed run time with @component at @factor: straight lines between the points that were replayed. */
function replayed(replay, component, factor) {
	const curve = replay.curves.find((each) => sameComponent(each, component));
	if (!curve) return null;
	const points = [{ factor: 1, run_s: replay.predictions[0].unchanged_s }, ...curve.points].sort((a, b) => a.factor - b.factor);
	for (let i = 1; i < points.length; i++) {
		if (factor > points[i].factor) continue;
		const part = (factor - points[i - 1].factor) / (points[i].factor - points[i - 1].factor);
		return points[i - 1].run_s + part * (points[i].run_s - points[i - 1].run_s);
	}
	return points[points.length - 1].run_s;
}

/* A component's name in single quotes for a shell; a name has no character of a terminal's control. */
function quoted(text) {
	if (/^[\w./:=+-]+$/.test(text)) return text;
	return `'${text.replaceAll('\'', '\'\\\'\'')}'`;
}

function rangeText([least, most]) {
	return seconds(least) === seconds(most) ? seconds(most) : `${seconds(least)} to ${seconds(most)}`;
}

/* Lines of the path's range, and of the replay, from the component as it is to nothing of it. */
function paintWhatif(context, width, height, component, factor, replay) {
	const whole = report.program.critical_path_s;
	const base = replay ? Math.max(whole, replay.predictions[0].unchanged_s) : whole;
	const left = 70, bottom = 24, top = base * 1.06;
	const x = (f) => left + (width - left - 16) * (1 - f), y = (value) => 6 + (height - 6 - bottom) * (1 - value / top);
	for (let k = 0; k <= 4; k++) {
		context.fillStyle = color('line');
		context.fillRect(left, y(base * k / 4), width - left - 16, 1);
		context.fillStyle = color('dim');
		context.fillText(seconds(base * k / 4), 4, y(base * k / 4) + 4);
	}
	for (const f of [1, 0.75, 0.5, 0.25, 0]) {
		const text = f === 1 ? 'as it is' : percent(f) + ' left';
		const wide = context.measureText(text).width;
		context.fillText(text, Math.max(left, Math.min(width - wide, x(f) - wide / 2)), height - 6);
	}
	const factors = Array.from({ length: 41 }, (unused, i) => 1 - i / 40);
	const ranges = factors.map((f) => pathRange([[component, f]]));
	context.fillStyle = color('path');
	context.globalAlpha = 0.25;
	context.beginPath();
	factors.forEach((f, i) => context.lineTo(x(f), y(ranges[i][1])));
	factors.slice().reverse().forEach((f, i) => context.lineTo(x(f), y(ranges[factors.length - 1 - i][0])));
	context.fill();
	context.globalAlpha = 1;
	const line = (name, value) => {
		context.strokeStyle = color(name);
		context.lineWidth = 2;
		context.beginPath();
		factors.forEach((f, i) => context.lineTo(x(f), y(value(f, i))));
		context.stroke();
	};
	line('path', (f, i) => ranges[i][1]);
	line('path', (f, i) => ranges[i][0]);
	if (replay && replayed(replay, component, 1) !== null) line('work', (f) => replayed(replay, component, f));
	context.fillStyle = color('fg');
	context.fillRect(x(factor), 6, 1, height - 6 - bottom);
}

function whatif() {
	const program = report.program;
	const rows = report.components.filter((row) => row.saved_s > 0).slice(0, SLIDERS_MOST);
	if (!rows.length) return null;
	const counts = data.replays ? data.replays.map((each) => each.predictions[0].cores) : [];
	const state = { factors: rows.map(() => 1), at: Math.max(0, rows.findIndex((row) => row.kind !== 'thread')), cores: counts.includes(program.cores) ? program.cores : counts[0] };
	const out = el('div', { 'aria-live': 'polite' });
	const replay = () => replayOf(state.cores);
	const chart = canvas(220, { 'aria-label': 'Critical path against how much of the chosen component is left' },
		(context, width, height) => paintWhatif(context, width, height, rows[state.at], state.factors[state.at], replay()));
	const chartTitle = el('h3');

	function replayText(changes) {
		if (!replay()) return data.timeline ? 'The journal is long: cpa-report --html FILE --cores N replays it on N cores.' :
			'With a journal (cpa run --journal) the run is replayed on any number of cores as well.';
		const base = replay().predictions[0].unchanged_s, on = `on ${state.cores} idle core${state.cores === 1 ? '' : 's'}`;
		if (!changes.length) return `Replayed ${on} with nothing changed: ${seconds(base)}.`;
		const single = changes.length === 1 ? replayed(replay(), ...changes[0]) : null;
		if (single !== null)
			return `Replayed ${on}: ${seconds(single)} instead of ${seconds(base)} (${percent(single / base - 1)}), ` +
				'from five points with straight lines between them.';
		return ['For the run time with these changes: ', el('code', {}, `cpa-report --cores ${state.cores} ` +
			changes.map(([row, f]) => `--what-if ${quoted(`${row.kind}:${row.name}=${f}`)}`).join(' ') + (data.dump ? ` ${quoted(data.dump)}` : ''))];
	}

	function draw() {
		const changes = rows.map((row, i) => [row, state.factors[i]]).filter(([, factor]) => factor < 1);
		const [least, most] = pathRange(changes);
		const work = changes.reduce((sum, [row, factor]) => sum - (1 - factor) * row.cpu_s, workSeconds()) / program.cores;
		out.replaceChildren(
			el('span', { cls: 'big' }, rangeText([least, most])), ` critical path instead of ${seconds(program.critical_path_s)}`,
			el('p', { cls: 'dim' }, changes.length ? '' : 'Move a slider: how much of a component’s time is left. ',
				`On ${program.cores} cores no run is shorter than ${seconds(Math.max(least, Math.max(0, work)))}. `,
				replayText(changes)));
		chartTitle.replaceChildren('If less of ', el('span', { cls: 'name' }, `${rows[state.at].kind} ${rows[state.at].name}`), ' is left');
		if (chart.isConnected) chart.redraw();
	}

	const sliders = rows.map((row, i) => {
		const output = el('output', { for: `slider${i}` }, '100%');
		return el('div', { cls: 'slider' },
			el('label', { for: `slider${i}`, title: `${row.kind} ${row.name}` }, el('span', { cls: 'dim' }, row.kind + ' '),
				el('span', { cls: 'name' }, row.name)),
			el('input', { id: `slider${i}`, type: 'range', min: 0, max: 100, step: 5, value: 100,
				onfocus: () => { state.at = i; draw(); },
				oninput: (event) => {
					state.factors[i] = event.target.value / 100;
					state.at = i;
					output.textContent = percent(state.factors[i]);
					draw();
				} }), output);
	});
	const cores = counts.length > 1 ? el('div', { cls: 'tools' }, el('span', { cls: 'dim' }, 'cores of the replay'),
		counts.map((count) => el('button', { type: 'button', 'aria-pressed': String(count === state.cores), onclick: (event) => {
			state.cores = count;
			for (const each of event.target.parentNode.querySelectorAll('button'))
				each.setAttribute('aria-pressed', String(each === event.target));
			draw();
		} }, String(count)))) : null;
	draw();
	return section('whatif', 'What if: less of a component',
		'The band is what the report proves: the path is in it, for it never is below the line that the present path allows, nor above ' +
		'the straight line to the path without the component.' + (counts.length ? ' The blue line is the replayed run.' : ''),
		el('div', { cls: 'halves' }, el('div', {}, out, sliders, cores), el('div', {}, chartTitle, chart)),
		data.replays ? data.replays[0].notes.map((text) => el('div', { cls: 'note' }, text)) : null,
		data.replays ? nextChanges(replay()) : null);
}

function nextChanges(replay) {
	if (!replay.next.length) return null;
	const before = (i) => i ? replay.next[i - 1].run_s : replay.predictions[0].unchanged_s;
	return el('div', {}, el('h3', {}, `One after the other, replayed on ${replay.predictions[0].cores} cores`),
		table([
			{ title: 'run time', value: (row) => row.run_s, format: seconds },
			{ title: 'change', value: (row) => row.run_s / before(replay.next.indexOf(row)) - 1, format: percent },
			{ title: 'without', value: (row) => `${row.kind} ${row.name}`, text: true },
		], replay.next, { by: -1, label: 'One after the other' }));
}
