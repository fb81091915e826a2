/* components.js - what the run would gain if one component cost nothing; when it was on the path */

/* The component's share of the path's growth in each interval. */
function spark(component) {
	const intervals = report.intervals;
	const found = intervals.components.find((each) => sameComponent(each, component));
	if (!found || intervals.samples.length < 4) return '';
	const shares = intervals.samples.map((sample, i) => {
		const before = i ? intervals.samples[i - 1].critical_path_s : 0;
		const own = found.critical_path_s[i] - (i ? found.critical_path_s[i - 1] : 0);
		return Math.max(0, Math.min(1, share(own, sample.critical_path_s - before) ?? 0));
	});
	const label = `share of the path over time, at most ${percent(Math.max(...shares))}`;
	return canvas(14, { cls: 'spark', 'aria-label': label }, (context, width, height) => {
		context.fillStyle = color('path');
		shares.forEach((value, i) => context.fillRect(width * i / shares.length, height * (1 - value),
			width / shares.length + 0.3, height * value));
	});
}

function baseName(location) {
	return location ? location.replace(/^.*\//, '') : '';
}

function components() {
	const program = report.program, rows = report.components;
	const want = { kind: '', text: '' };
	const columns = [
		{ title: 'saves', value: (row) => row.saved_s, format: seconds, bar: 'path', max: most(rows, (row) => row.saved_s),
			help: 'what the critical path loses if this costs nothing' },
		...marginColumn((row) => row.saved_margin_s, seconds),
		{ title: 'path', value: (row) => share(row.critical_path_s, program.critical_path_s), format: percent, bar: 'path', max: 1,
			help: 'share of the critical path' },
		...marginColumn((row) => share(row.critical_path_margin_s, program.critical_path_s), percent),
		{ title: 'wall', value: (row) => share(row.observed_path_s, program.wall_s), format: percent, bar: 'other', max: 1,
			help: 'share of the observed path' },
		{ title: 'CPU', value: (row) => share(row.cpu_s, program.cpu_s), format: percent, bar: 'work', max: 1,
			help: 'share of the CPU time of all threads' },
		{ title: 'kind', value: (row) => row.kind, text: true },
		{ title: 'component', value: (row) => row.name, text: true },
		{ title: 'where', value: (row) => baseName(row.location), text: true },
		{ title: 'when on the path', value: () => 0, format: (value, row) => spark(row), text: true, fixed: true },
	];
	const options = {
		by: 0, top: 12, label: 'Components',
		filter: (row) => (!want.kind || row.kind === want.kind) &&
			`${row.name} ${row.location || ''}`.toLowerCase().includes(want.text),
		pick: choose, picked: (row) => chosen.component === row,
	};
	const shown = table(columns, rows, options);
	const draw = () => { shown.redraw(); redrawAll(); };
	chosen.changed.push(() => shown.redraw());
	const kinds = [...new Set(rows.map((row) => row.kind))];
	const all = el('button', { type: 'button', onclick: () => {
		options.top = options.top ? 0 : 12;
		all.textContent = options.top ? `Show all ${rows.length}` : 'Show 12';
		draw();
	} }, `Show all ${rows.length}`);

	return section('components', 'What the run would gain if one component cost nothing',
		'Act on the column "saves". Savings overlap and do not add up: a lock and the work under it, a thread and its ' +
		'functions. A click on a row marks it in the timeline.',
		el('div', { cls: 'tools' },
			el('select', { 'aria-label': 'Kind of component', onchange: (event) => { want.kind = event.target.value; draw(); } },
				el('option', { value: '' }, 'all kinds'), kinds.map((kind) => el('option', { value: kind }, kind))),
			el('input', { type: 'search', placeholder: 'filter by name', 'aria-label': 'Filter by name',
				oninput: (event) => { want.text = event.target.value.toLowerCase(); draw(); } }),
			rows.length > 12 ? all : null),
		shown);
}
