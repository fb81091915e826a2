/* compare.js - runs before and after a change: the page of cpa diff */

const GOOD = new Set(['faster', 'less']), BAD = new Set(['slower', 'more']);

const MEASURES = new Map([['total', 'The whole run'], ['saves', 'What a component saves if it takes no time'],
	['path', 'Its part of the critical path'], ['wait', 'Waits for a lock'], ['item wait', 'Mean wait of an item in a queue']]);

function runsText(comparison) {
	const runs = (side) => `${side.runs} run${side.runs === 1 ? '' : 's'}`;
	return comparison.new ? `${runs(comparison.base)}, then ${runs(comparison.new)}` : runs(comparison.base);
}

function signed(value) {
	return value === null || value === undefined ? '–' : (value > 0 ? '+' : '') + (100 * value).toFixed(1) + '%';
}

function intervalText(interval) {
	return interval && interval.low !== null && interval.high !== null ? `${signed(interval.low)} to ${signed(interval.high)}` : '';
}

/* The interval as a line around the change; grey in the middle: too small to matter. */
function intervalMark(row, span, least) {
	const interval = row.change_interval;
	if (row.change === null || !intervalText(interval)) return '';
	return canvas(14, { cls: 'spark', 'aria-label': `change ${signed(row.change)}, interval ${intervalText(interval)}` },
		(context, width, height) => {
			const x = (value) => width / 2 + Math.max(-1, Math.min(1, value / span)) * (width / 2 - 4);
			context.fillStyle = color('card');
			context.fillRect(x(-least), 0, Math.max(1, x(least) - x(-least)), height);
			context.fillStyle = color('line');
			context.fillRect(x(0), 0, 1, height);
			context.fillStyle = color(GOOD.has(row.verdict) ? 'good' : BAD.has(row.verdict) ? 'bad' : 'plain');
			context.fillRect(x(interval.low), height / 2 - 1, Math.max(1, x(interval.high) - x(interval.low)), 2);
			context.beginPath();
			context.arc(x(row.change), height / 2, 3.5, 0, 7);
			context.fill();
		});
}

function comparisonTable(rows, span, least, label) {
	const name = (row) => [row.kind, row.name].filter(Boolean).join(' ');
	const relative = (side) => share(side && side.deviation, side && side.mean);
	const two = rows.some((row) => row.new);
	return longTable([
		{ title: two ? 'base' : 'median', value: (row) => two ? row.base.mean : row.base.median, format: seconds },
		{ title: '±', value: (row) => relative(row.base), format: percent, help: 'standard deviation of a run' },
		...(two ? [
			{ title: 'new', value: (row) => row.new.mean, format: seconds },
			{ title: '±', value: (row) => relative(row.new), format: percent, help: 'standard deviation of a run' },
			{ title: 'change', value: (row) => row.change, format: signed },
			{ title: '95 % interval', value: (row) => intervalText(row.change_interval), text: true },
			{ title: 'as a line', value: () => 0, format: (value, row) => intervalMark(row, span, least), text: true, fixed: true },
			{ title: 'verdict', value: (row) => row.verdict, text: true, format: (text) => el('span', {
				cls: GOOD.has(text) ? 'faster' : BAD.has(text) ? 'slower' : 'dim' }, text) },
		] : []),
		{ title: 'of', value: name, text: true },
	], rows, { by: -1, label }, 15);
}

/* "critical path: faster, -32% (-40% to -25%)" */
function comparisonLead(totals) {
	return totals.map((row) => `${row.name}: ${row.verdict}` +
		(row.change === null || row.change === undefined ? '' : `, ${signed(row.change)}`) +
		(intervalText(row.change_interval) ? ` (${intervalText(row.change_interval)})` : '')).join('; ');
}

function compare() {
	const comparison = data.comparison, measures = [...new Set(comparison.rows.map((row) => row.measure))];
	const bounds = comparison.rows.flatMap((row) => row.change_interval ? [row.change_interval.low, row.change_interval.high] : []);
	const span = Math.max(0.05, Math.min(1, ...[Math.max(0, ...bounds.filter((value) => value !== null).map(Math.abs))]));
	const of = (measure) => comparison.rows.filter((row) => row.measure === measure);
	return section('compare', 'Runs before and after a change',
		comparison.new ? `A change is called only if its whole interval is beyond ±${percent(comparison.least_change)}. ${runsText(comparison)}.` :
			`${runsText(comparison)}.`,
		comparison.new ? el('p', { cls: 'lead' }, comparisonLead(of(measures[0]))) : null,
		comparison.warnings.map((text) => el('div', { cls: 'note' }, text)),
		comparison.rules.length ? el('div', {}, el('h3', {}, 'Limits'), table([
			{ title: 'ruling', value: (row) => row.ruling, text: true },
			{ title: 'limit', value: (row) => row.rule, text: true },
			{ title: 'found', value: (row) => intervalText(row.interval), text: true },
			{ title: 'of', value: (row) => [row.kind, row.name].filter(Boolean).join(' '), text: true },
		], comparison.rules, { by: -1, label: 'Limits' })) : null,
		measures.map((measure) => el('div', {}, el('h3', {}, MEASURES.get(measure) || measure), comparisonTable(of(measure), span, comparison.least_change, measure))),
		el('details', {}, el('summary', {}, 'The files'), el('ul', {}, [...comparison.base.files, ...(comparison.new ? comparison.new.files : [])]
			.map((file) => el('li', { cls: 'name' }, file)))));
}
