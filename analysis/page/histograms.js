/* histograms.js - any metric of any parts of the program over time, in one graph (IPS-2, Fig. 6) */

const LINES_MOST = 8;
const LINE_STYLES = [['path', []], ['work', []], ['outside', []], ['other', []],
	['path', [6, 3]], ['work', [6, 3]], ['outside', [2, 3]], ['other', [2, 3]]];

function histograms() {
	const { until_s: until, lines } = data.series;
	if (until.length < 4 || !lines.length) return null;
	const about = new Map(data.metrics.map((metric) => [metric.key, metric]));
	const nodes = new Map();
	for (const line of lines) {
		const key = JSON.stringify([line.level, line.name, line.id]);
		if (!nodes.has(key)) nodes.set(key, []);
		nodes.get(key).push(line);
	}
	const nodeName = (line) => line.level === 'program' ? 'program' :
		`${line.level} ${line.name}${line.level === 'thread' ? ` (${line.id})` : ''}`;
	const program = [...nodes.values()].find((list) => list[0].level === 'program') || lines;
	const shown = program.filter((line) => ['t_cpu_s', 't_wait_cpu_s'].includes(line.metric));
	const units = () => [...new Set(shown.map((line) => about.get(line.metric).unit))];
	const say = el('p', { cls: 'about', 'aria-live': 'polite' });

	const chart = canvas(230, { 'aria-label': 'Metrics over time; the same as a table below' }, (context, width, height) => {
		const left = 70, right = units().length > 1 ? 76 : 8, end = until[until.length - 1];
		const x = (at) => left + (width - left - right) * at / end;
		const tops = units().map((unit) => most(shown.filter((line) => about.get(line.metric).unit === unit),
			(line) => most(line.values, (value) => value)) * 1.05);
		const y = (value, top) => height - 22 - (height - 34) * value / top;
		units().forEach((unit, i) => {
			for (let k = 0; k <= 4; k++) {
				context.fillStyle = color('dim');
				context.fillText(FORMATS[unit](tops[i] * k / 4), i ? width - right + 6 : 4, y(tops[i] * k / 4, tops[i]) + 4);
				context.fillStyle = color('line');
				if (!i) context.fillRect(left, y(tops[i] * k / 4, tops[i]), width - left - right, 1);
			}
		});
		shown.forEach((line, i) => {
			const top = tops[units().indexOf(about.get(line.metric).unit)];
			const [name, dash] = LINE_STYLES[i];
			context.strokeStyle = color(name);
			context.setLineDash(dash);
			context.lineWidth = 2;
			context.beginPath();
			line.values.forEach((value, k) => {
				/* Between the parts of a run there are samples without time. */
				if (value === null || until[k] <= (k ? until[k - 1] : 0)) return;
				context.lineTo(x(k ? until[k - 1] : 0), y(value, top));
				context.lineTo(x(until[k]), y(value, top));
			});
			context.stroke();
			context.setLineDash([]);
		});
		timeAxis(context, x, end, height);
	});

	const key = el('div', { cls: 'key' });
	const values = el('div');
	function draw() {
		key.replaceChildren(...shown.map((line, i) => el('span', {},
			el('i', { style: { background: `var(--${LINE_STYLES[i][0]})` } }),
			`${about.get(line.metric).symbol} of `, el('span', { cls: 'name' }, nodeName(line)), i > 3 ? ' (dashed) ' : ' ',
			el('button', { type: 'button', 'aria-label': `remove ${about.get(line.metric).symbol} of ${nodeName(line)}`,
				onclick: () => { shown.splice(i, 1); draw(); } }, '×'))));
		values.replaceChildren(table([
			{ title: 'until', value: (row) => until[row], format: seconds },
			...shown.map((line) => ({ title: `${about.get(line.metric).symbol} of ${nodeName(line)}`,
				value: (row) => line.values[row], format: FORMATS[about.get(line.metric).unit] })),
		], until.map((end, i) => i), { by: 0, up: true, label: 'Metrics over time' }));
		if (chart.isConnected) chart.redraw();
	}

	const metricSelect = el('select', { 'aria-label': 'Metric' });
	const nodeSelect = el('select', { 'aria-label': 'Part of the program', onchange: fill },
		[...nodes.keys()].map((each) => el('option', { value: each }, nodeName(nodes.get(each)[0]))));
	function fill() {
		const before = metricSelect.value;
		metricSelect.replaceChildren(...nodes.get(nodeSelect.value).map((line) => {
			const metric = about.get(line.metric);
			return el('option', { value: metric.key }, `${metric.symbol}: ${metric.meaning}`);
		}));
		if (before) metricSelect.value = before;
		if (!metricSelect.value) metricSelect.selectedIndex = 0;
	}
	function add() {
		const line = nodes.get(nodeSelect.value).find((each) => each.metric === metricSelect.value);
		say.textContent = '';
		if (shown.includes(line)) return;
		if (shown.length === LINES_MOST) say.textContent = `At most ${LINES_MOST} lines: remove one first.`;
		else if (units().length === 2 && !units().includes(about.get(line.metric).unit))
			say.textContent = 'The graph has two scales already: remove the lines of one unit first.';
		else { shown.push(line); draw(); }
	}
	fill();
	draw();
	return section('histograms', 'Any metric over time',
		`One value for each interval of ${seconds(report.intervals.period_s)}${report.parts.length ? ' of the run, of which the graph has the profiled parts' : ''}. Choose a part of the program and a metric, then add it.`,
		el('div', { cls: 'tools' }, nodeSelect, metricSelect, el('button', { type: 'button', onclick: add }, 'Add')),
		say, chart, key, el('details', {}, el('summary', {}, 'The same as a table'), values));
}
