/* hierarchy.js - program, machine, process, thread; procedures and events: each with the metrics of IPS */

const FORMATS = { s: seconds, number, ratio: number, 'per second': number };

function metricColumns(rows) {
	return data.metrics.filter((metric) => rows.some((row) => row[metric.key] !== undefined && row[metric.key] !== null))
		.map((metric) => ({ title: metric.symbol, help: metric.meaning, value: (row) => row[metric.key],
			format: FORMATS[metric.unit] }));
}

/* A row of the tree: {figures, name, detail, children, open}. */
function treeRow(figures, name, detail, children) {
	return { figures, name, detail, children, open: false };
}

/* Threads of one name as one row, with the sums of their times. */
function foldThreads(rows) {
	const classes = new Map();
	for (const row of rows) {
		const name = row.thread_name || row.name || '';
		if (!classes.has(name)) classes.set(name, []);
		classes.get(name).push(row);
	}
	return [...classes].map(([name, same]) => {
		const children = same.map((row) => treeRow(row, `thread ${row.id}`, name, []));
		if (same.length === 1) return children[0];
		const sums = {};
		for (const { key, unit } of data.metrics)
			if (unit === 's' && same.some((row) => typeof row[key] === 'number'))
				sums[key] = same.reduce((sum, row) => sum + (row[key] || 0), 0);
		return treeRow(sums, `${same.length} threads`, name, children);
	});
}

function programTree() {
	const metrics = report.metrics;
	const pidOf = new Map(report.processes.map((process) => [process.id, process.pid]));
	const processOf = new Map(report.threads.map((thread) => [thread.id, pidOf.get(thread.process)]));
	const machine = treeRow(metrics.machines[0] || {}, 'machine', (metrics.machines[0] || {}).name, []);
	const only = metrics.processes.length === 1 ? metrics.processes[0].id : null;
	const left = new Set(metrics.threads);
	for (const row of metrics.processes) {
		const own = metrics.threads.filter((thread) => (only ?? processOf.get(thread.id)) === row.id);
		own.forEach((thread) => left.delete(thread));
		machine.children.push(treeRow(row, `process ${row.id || ''}`, row.name, foldThreads(own)));
	}
	machine.children.push(...foldThreads([...left]));
	machine.open = true;
	if (machine.children.length === 1) machine.children[0].open = true;
	return { ...treeRow(metrics.program, 'program', metrics.program.name, [machine]), open: true };
}

function treeTable(root) {
	const all = [], add = (node) => { all.push(node.figures); node.children.forEach(add); };
	add(root);
	const columns = metricColumns(all), body = el('tbody');
	function lines(node, depth) {
		const toggle = () => { node.open = !node.open; draw(); };
		const button = node.children.length ? el('button', { type: 'button', cls: 'tree', onclick: toggle,
			'aria-expanded': String(Boolean(node.open)), 'aria-label': `${node.open ? 'fold' : 'open'} ${node.name}` },
		node.open ? '▾' : '▸') : null;
		const line = el('tr', {},
			el('td', { cls: 'text name', style: { paddingLeft: 8 + 18 * depth + 'px' } }, button, node.name + ' ',
				el('span', { cls: 'dim name' }, node.detail || '')),
			columns.map((column) => el('td', {}, column.format(column.value(node.figures)))));
		return [line, ...(node.open ? node.children.flatMap((child) => lines(child, depth + 1)) : [])];
	}
	function draw() { body.replaceChildren(...lines(root, 0)); }
	draw();
	return el('div', { cls: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Hierarchy' }, el('table', {},
		el('thead', {}, el('tr', {}, el('th', { cls: 'text', scope: 'col' }, 'part of the run'),
			columns.map((column) => el('th', { scope: 'col', title: column.help }, column.title)))),
		body));
}

function hierarchy() {
	const metrics = report.metrics;
	if (!metrics) return null;
	const level = (rows, extra, label) => longTable([
		...metricColumns(rows), { title: label, value: (row) => row.name, text: true }, ...extra], rows, { by: 0, label }, 12);
	return section('hierarchy', 'Hierarchy: program, machine, process, thread, procedure, event',
		'The metrics of IPS at each level; the heads say what they mean, man cpa-metrics has the definitions.',
		treeTable(programTree()),
		metrics.procedures.length ? el('details', {}, el('summary', {}, `Procedures (${metrics.procedures.length})`),
			level(metrics.procedures, [{ title: 'where', value: (row) => baseName(row.where), text: true }], 'procedure')) : null,
		metrics.events.length ? el('details', {}, el('summary', {}, `Events (${metrics.events.length})`),
			level(metrics.events, [{ title: 'count', value: (row) => row.count, format: number },
				{ title: 'where', value: (row) => baseName(row.where), text: true }], 'event')) : null);
}
