'use strict';
/*
 * core.js - elements, figures, tables and canvases, which all views use
 *
 * Names of the profiled program are hostile: they become text nodes and attributes, never markup, and
 * are keys of a Map only, never of an object.
 */
const data = JSON.parse(document.getElementById('data').textContent);
const report = data.report;

/*
 * An element @tag. @props: attributes, but style is an object, cls the class, and onX a listener.
 * Missing children are left out.
 */
function el(tag, props, ...children) {
	const element = document.createElement(tag);
	for (const [key, value] of Object.entries(props || {})) {
		if (value === null || value === undefined || value === false) continue;
		if (key === 'style') Object.assign(element.style, value);
		else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
		else if (key === 'cls') element.className = value;
		else element.setAttribute(key, value === true ? '' : value);
	}
	for (const child of children.flat(Infinity))
		if (child !== null && child !== undefined) element.append(child);
	return element;
}

function seconds(value) {
	if (value === null || value === undefined) return '–';
	const size = Math.abs(value);
	if (size === 0) return '0';
	if (size >= 99.95) return value.toFixed(0) + ' s';
	if (size >= 0.9995) return value.toPrecision(3) + ' s';
	if (size >= 0.9995e-3) return (value * 1e3).toPrecision(3) + ' ms';
	if (size >= 0.9995e-6) return (value * 1e6).toPrecision(3) + ' µs';
	return (value * 1e9).toFixed(0) + ' ns';
}

function percent(value) {
	if (value === null || value === undefined) return '–';
	if (value === 0) return '0%';
	if (Math.abs(value) < 0.0005) return '<0.1%';
	return (100 * value).toFixed(Math.abs(value) < 0.0995 ? 1 : 0) + '%';
}

function number(value) {
	if (value === null || value === undefined) return '–';
	if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en');
	if (Math.abs(value) < 1e-6 && value !== 0) return value.toExponential(1);
	return value.toPrecision(3);
}

/* @part of @whole; null if that is nothing. */
function share(part, whole) {
	return whole > 0 && part !== null && part !== undefined ? part / whole : null;
}

/* A column of margins beside a figure, if the run was profiled in windows. value(row): seconds or a share; undefined: none. */
function marginColumn(value, format) {
	return report.windows && report.windows.batches ?
		[{ title: '±', value: (row) => value(row) ?? null, format, help: 'half of the 95 % interval of the figure before it' }] : [];
}

function most(rows, value) {
	return rows.reduce((max, row) => Math.max(max, value(row) || 0), 1e-12);
}

/* The value of the style's variable, a color. */
function color(name) {
	return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

function section(id, title, about, ...children) {
	return el('section', { id, 'aria-labelledby': id + '-title' },
		el('h2', { id: id + '-title' }, title),
		about ? el('p', { cls: 'about' }, about) : null, ...children);
}

function legend(kinds) {
	return el('div', { cls: 'key' }, kinds.map(([name, text]) =>
		el('span', {}, el('i', { style: { background: `var(--${name})` } }), text)));
}

/*
 * A table, sorted by its columns' heads. A column: title; value(row); format(value, row): text or an
 * element; text: it is no figure; bar: a color, with max the value of a full bar; help; fixed: it
 * cannot be sorted. @options: by: the column that sorts at first, -1 none; up; top: rows shown; filter(row);
 * label; pick(row): a row can be chosen, and picked(row) says which one is. The result has redraw().
 */
function table(columns, rows, options) {
	let by = options.by ?? 0, up = Boolean(options.up);
	const body = el('tbody'), head = el('tr');
	const scroll = el('div', { cls: 'scroll', tabindex: 0, role: 'region', 'aria-label': options.label },
		el('table', {}, el('thead', {}, head), body));

	function cell(column, row) {
		const value = column.value(row);
		const shown = column.format ? column.format(value, row) : value ?? '–';
		if (column.bar) {
			const width = 96 * Math.max(0, Math.min(1, (value || 0) / column.max));
			return el('td', { cls: 'figure' },
				el('i', { style: { width: width + '%', background: `var(--${column.bar})` } }),
				el('span', {}, shown));
		}
		return el('td', { cls: column.text ? 'text name' : null,
			title: column.text && typeof shown === 'string' ? shown : null }, shown);
	}

	function line(row) {
		const choose = options.pick && (() => { options.pick(row); scroll.redraw(); });
		return el('tr', choose ? {
			tabindex: 0, 'aria-selected': String(Boolean(options.picked(row))), onclick: choose,
			onkeydown: (event) => { if (event.key === 'Enter') choose(); },
		} : null, columns.map((column) => cell(column, row)));
	}

	function title(column, i) {
		const sort = () => { up = i === by ? !up : Boolean(column.text); by = i; scroll.redraw(); };
		const arrow = i !== by ? '' : up ? ' ▴' : ' ▾';
		return el('th', { cls: column.text ? 'text' : null, scope: 'col', title: column.help,
			'aria-sort': i !== by ? null : up ? 'ascending' : 'descending' },
			column.fixed ? column.title : el('button', { type: 'button', onclick: sort }, column.title + arrow));
	}

	function compare(a, b) {
		const x = columns[by].value(a), y = columns[by].value(b);
		const order = typeof x === 'string' ? x.localeCompare(y) : (x ?? -Infinity) - (y ?? -Infinity);
		return up ? order : -order;
	}

	scroll.redraw = () => {
		const shown = rows.filter(options.filter || (() => true));
		if (by >= 0) shown.sort(compare);
		body.replaceChildren(...shown.slice(0, options.top || Infinity).map(line));
		head.replaceChildren(...columns.map(title));
	};
	scroll.redraw();
	return scroll;
}

/* A table of the first @few rows, with a button for all of them. */
function longTable(columns, rows, options, few) {
	options.top = few;
	const shown = table(columns, rows, options);
	if (rows.length <= few) return [shown];
	const more = el('button', { type: 'button', onclick: () => {
		options.top = options.top ? 0 : few;
		more.textContent = options.top ? `Show all ${rows.length}` : `Show ${few}`;
		shown.redraw();
	} }, `Show all ${rows.length}`);
	return [el('div', { cls: 'tools' }, more), shown];
}

const painters = [];

/* A canvas of @height pixels; paint(context, width, height) is called whenever it has to be drawn. */
function canvas(height, props, paint) {
	const element = el('canvas', { role: 'img', ...props, style: { height: height + 'px' } });
	element.redraw = () => {
		const ratio = devicePixelRatio || 1, width = element.clientWidth, tall = element.tall || height;
		if (width < 40) return;
		element.width = width * ratio;
		element.height = tall * ratio;
		element.style.height = tall + 'px';
		const context = element.getContext('2d');
		context.scale(ratio, ratio);
		context.font = '12px system-ui, DejaVu Sans, sans-serif';
		paint(context, width, tall);
	};
	painters.push(element);
	return element;
}

function redrawAll() {
	for (const each of painters) if (each.isConnected) each.redraw();
}

/* A round step, of which some @count make @span. */
function roundStep(span, count) {
	const least = span / count || 1, power = 10 ** Math.floor(Math.log10(least));
	return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999);
}

/* @count characters of @text, with '…' in place of its middle: both ends tell names apart. */
function shortened(text, count) {
	const end = count >> 1;
	return text.slice(0, count - end) + '…' + (end ? text.slice(-end) : '');
}

/* @text, cut to @width pixels. */
function fitted(context, text, width) {
	if (context.measureText(text).width <= width) return text;
	let low = 0, high = text.length;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (context.measureText(shortened(text, middle)).width <= width) low = middle;
		else high = middle - 1;
	}
	return low ? shortened(text, low) : '';
}

let tip = null;

function showTip(event, text) {
	if (!tip) document.body.append(tip = el('div', { cls: 'tip', role: 'tooltip' }));
	tip.textContent = text;
	tip.hidden = false;
	tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
	tip.style.top = (event.clientY + 18 + tip.offsetHeight > innerHeight ?
		event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + 'px';
}

function hideTip() {
	if (tip) tip.hidden = true;
}

/* The component that was clicked in the table: the timeline marks it. */
const chosen = { component: null, changed: [] };

function choose(component) {
	chosen.component = chosen.component === component ? null : component;
	for (const call of chosen.changed) call();
}

function sameComponent(one, other) {
	return one.kind === other.kind && one.name === other.name;
}
