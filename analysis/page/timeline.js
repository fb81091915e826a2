/*
 * timeline.js - threads as lanes, and the path across them
 *
 * What is on the path is strong, the rest pale; arrows go from the release that let the path go on to
 * the thread that went on. Zooms from the run to one event.
 */
const SPAN_LEAST = 20; /* ns in view */

/* Lanes to rows: threads of one class that do not overlap in time share one. */
function packRows(lanes, packed) {
	const rows = [], rowOf = [];
	lanes.forEach((lane, l) => {
		let r = packed ? rows.findIndex((row) => row.class === lane.class && row.end <= lane.begin_ns) : -1;
		if (r < 0) r = rows.push({ class: lane.class, lanes: [] }) - 1;
		rows[r].end = lane.end_ns;
		rows[r].lanes.push(l);
		rowOf[l] = r;
	});
	return { rows, rowOf };
}

/* Of each lane the waits on the observed path that another thread ended. */
function findHops(lanes) {
	return lanes.map((lane) => {
		const hops = [];
		for (let i = 0; i < lane.events; i++)
			if (lane.flags[i] & ON_WAIT && lane.releaser[i] >= 0) hops.push(i);
		return Int32Array.from(hops);
	});
}

function eventText(lanes, lane, i) {
	const s = (ns) => seconds(ns / 1e9), lines = [laneName(lane)];
	const text = nodeText(lane.node[i]);
	lines.push(`at ${s(lane.from[i])}: ${s(lane.arrived[i] - lane.from[i])}${text ? `, until ${text}` : ''}`);
	lines.push(`work ${s(lane.process[i])}, ready without processor ${s(lane.runqueue[i])}, blocked outside ${s(lane.external[i])}`);
	const component = report.components[lane.component[i] - 1];
	if (component) lines.push(`mostly ${component.kind} ${component.name}`);
	if (lane.flags[i] & WAITS) {
		lines.push(`then waits ${s(lane.now[i] - lane.arrived[i])}`);
		if (lane.releaser[i] >= 0)
			lines.push(`released by ${laneName(lanes[lane.releaser[i]])}, back ${s(lane.latency[i])} later`);
	}
	if (partOnPath(lane, i, OBSERVED)) lines.push('on the observed path');
	if (partOnPath(lane, i, CRITICAL)) lines.push('on the critical path');
	return lines.join('\n');
}

/* The longest @count parts of events on the path of @mode. */
function longestParts(lanes, mode, count) {
	let parts = [], least = 0;
	for (const lane of lanes)
		for (let i = 0; i < lane.events; i++) {
			const part = partOnPath(lane, i, mode);
			if (!part || part[1] - part[0] <= least) continue;
			parts.push({ lane, i, from: part[0], length: part[1] - part[0] });
			if (parts.length < 4 * count) continue;
			parts.sort((a, b) => b.length - a.length);
			parts = parts.slice(0, count);
			least = parts[count - 1].length;
		}
	return parts.sort((a, b) => b.length - a.length).slice(0, count);
}

function pathTable(lanes, mode, go) {
	return table([
		{ title: 'at', value: (row) => row.from / 1e9, format: seconds },
		{ title: 'lasts', value: (row) => row.length / 1e9, format: seconds },
		{ title: 'work', value: (row) => row.lane.process[row.i] / 1e9, format: seconds },
		{ title: 'ready, no processor', value: (row) => row.lane.runqueue[row.i] / 1e9, format: seconds },
		{ title: 'thread', value: (row) => laneName(row.lane), text: true },
		{ title: 'until', value: (row) => nodeText(row.lane.node[row.i]), text: true },
	], longestParts(lanes, mode, 20), { by: 1, label: 'Longest pieces of the path', pick: go, picked: () => false });
}

class Timeline {
	constructor(lanes) {
		this.lanes = lanes;
		this.hops = findHops(lanes);
		this.end = Math.max(1, data.timeline.end_ns);
		this.from = 0;
		this.to = this.end;
		this.mode = OBSERVED;
		this.left = 150;
		this.axis = 24;
		this.map = canvas(38, { 'aria-hidden': 'true', role: null }, (context, width, height) => this.paintMap(context, width, height));
		this.canvas = canvas(100, {
			tabindex: 0, role: 'application', 'aria-label': `Timeline of ${lanes.length} threads. Arrow keys move, plus and minus ` +
				'zoom, 0 shows all, n and p go to the next and previous hop of the path, e zooms to the event in the middle. ' +
				'The same is in the table below.' }, (context, width, height) => this.paint(context, width, height));
		this.say = el('span', { 'aria-live': 'polite' });
		this.pack(true);
		chosen.changed.push(() => this.redraw());
	}

	pack(packed) {
		this.packed = packed;
		Object.assign(this, packRows(this.lanes, packed));
		this.high = this.rows.length > 24 ? 12 : 30;
		this.gap = 5;
		this.canvas.tall = this.axis + this.rows.length * (this.high + this.gap) + 6;
	}

	rowAt(r) { return this.axis + r * (this.high + this.gap); }

	redraw() {
		if (!this.canvas.isConnected) return;
		const began = performance.now();
		this.map.redraw();
		this.canvas.redraw();
		this.canvas.dataset.drawn = (performance.now() - began).toFixed(1);
		this.tell();
	}

	/* The range in words; with one event in view, all about it. */
	tell() {
		const s = (ns) => seconds(ns / 1e9);
		let hops = 0;
		this.lanes.forEach((lane, l) => {
			const list = this.hops[l];
			for (const i of list) if (lane.now[i] >= this.from && lane.now[i] <= this.to) hops++;
		});
		this.say.textContent = `${s(this.from)} to ${s(this.to)}: ${s(this.to - this.from)} of ${s(this.end)}, ` +
			`${number(hops)} hops of the path` + (this.exact ? ', each event drawn' : '');
	}

	/* Draw the lanes of [from, to] into @context at (left, top), in pixels of the screen. */
	lanesInto(context, left, top, width, height, from, to, y, high, mark) {
		const ratio = devicePixelRatio || 1, wide = Math.max(1, Math.floor(width * ratio)), tall = Math.max(1, Math.floor(height * ratio));
		const { sums, events } = sumColumns(this.lanes, this.rowOf, this.rows.length, wide, from, to);
		const image = context.createImageData(wide, tall);
		const pixels = new Uint32Array(image.data.buffer);
		paintRows(pixels, wide, sums, this.mode, (r) => Math.round(y(r) * ratio), Math.max(1, Math.round(high * ratio)), Math.round(mark * ratio));
		context.putImageData(image, Math.round(left * ratio), Math.round(top * ratio));
		return events;
	}

	/* The whole run; it changes with size, mode and rows only. */
	paintMap(context, width, height) {
		const wide = width - this.left - 6, key = [width, devicePixelRatio, this.mode, this.packed, color('bg')].join();
		if (key !== this.mapKey) {
			this.mapKey = key;
			this.mapImage = el('canvas', { width: context.canvas.width, height: context.canvas.height });
			const step = (height - 4) / this.rows.length;
			this.lanesInto(this.mapImage.getContext('2d'), this.left, 2, wide, height - 2, 0, this.end,
				(r) => 1 + r * step, Math.max(1, step - 1), Math.min(1, step));
		}
		context.drawImage(this.mapImage, 0, 0, width, height);
		context.fillStyle = color('dim');
		context.fillText('whole run', 8, height / 2 + 4);
		const x = this.left + wide * this.from / this.end, span = Math.max(2, wide * (this.to - this.from) / this.end);
		context.strokeStyle = color('fg');
		context.lineWidth = 2;
		context.strokeRect(x, 1, span, height - 2);
	}

	paint(context, width, height) {
		this.width = width;
		const wide = width - this.left - 6, scale = wide / (this.to - this.from);
		this.exact = this.lanesInto(context, this.left, 0, wide, height, this.from, this.to, (r) => this.rowAt(r), this.high, 3);
		this.paintNames(context);
		this.paintTicks(context, width, height, scale);
		this.paintChosen(context, wide, scale);
		if (this.mode === OBSERVED) this.paintHops(context, wide, scale);
		if (this.hover) this.paintHover(context, scale);
	}

	paintNames(context) {
		this.rows.forEach((row, r) => {
			const y = this.rowAt(r), first = this.lanes[row.lanes[0]];
			context.fillStyle = color('fg');
			context.fillText(fitted(context, row.class || first.name || 'thread', this.left - 14), 8, y + Math.min(13, this.high - 1));
			if (this.high < 30) return;
			context.fillStyle = color('dim');
			const second = row.lanes.length > 1 ? `${row.lanes.length} threads in turn` : laneName(first);
			context.fillText(fitted(context, second, this.left - 14), 8, y + 27);
		});
	}

	paintTicks(context, width, height, scale) {
		const step = roundStep(this.to - this.from, 6);
		for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
			const x = this.left + (at - this.from) * scale;
			context.fillStyle = color('line');
			context.fillRect(x, this.axis - 8, 1, 5);
			context.fillStyle = color('dim');
			const digits = Math.max(3, Math.ceil(Math.log10((at || 1) / step)) + 1);
			const text = at >= 1e9 ? Number((at / 1e9).toPrecision(digits)) + ' s' : at >= 1e6 ? Number((at / 1e6).toPrecision(digits)) + ' ms' :
				Number((at / 1e3).toPrecision(digits)) + ' µs';
			if (x + context.measureText(text).width < width) context.fillText(text, x + 3, 13);
		}
	}

	/* A line below what the chosen component did. */
	paintChosen(context, wide, scale) {
		const component = chosen.component;
		if (!component) return;
		const number_ = report.components.indexOf(component) + 1;
		const nodes = new Set(report.pag.nodes.filter((node) => node.class === component.name).map((node) => node.id));
		context.fillStyle = color('fg');
		this.lanes.forEach((lane, l) => {
			const [first, end] = visibleEvents(lane, this.from, this.to), y = this.rowAt(this.rowOf[l]) + this.high;
			const whole = component.kind === 'thread' && component.name === lane.class;
			let last = -1;
			for (let i = first; i < end; i++) {
				if (!whole && lane.component[i] !== number_ && !nodes.has(lane.node[i])) continue;
				const x0 = Math.max(0, (lane.from[i] - this.from) * scale), x1 = Math.min(wide, (lane.now[i] - this.from) * scale);
				if (x1 - last < 0.5) continue;
				context.fillRect(this.left + Math.max(x0, last), y, Math.max(1, x1 - Math.max(x0, last)), 2);
				last = x1;
			}
		});
	}

	paintHops(context, wide, scale) {
		context.strokeStyle = context.fillStyle = color('path');
		context.lineWidth = 1.3;
		context.beginPath();
		const heads = [];
		this.lanes.forEach((lane, l) => {
			let last = -9;
			for (const i of this.hops[l]) {
				const at = lane.now[i] - lane.latency[i];
				if (at < this.from || at > this.to) continue;
				const x = (at - this.from) * scale, to = this.rowOf[l], from = this.rowOf[lane.releaser[i]];
				if (x - last < 2 || from === to) continue;
				last = x;
				const y0 = this.rowAt(from) + (to > from ? this.high : -3), y1 = this.rowAt(to) + (to > from ? -3 : this.high);
				context.moveTo(this.left + x, y0);
				context.lineTo(this.left + x, y1);
				heads.push([this.left + x, y1, to > from ? -1 : 1]);
			}
		});
		context.globalAlpha = heads.length > wide / 6 ? 0.3 : 0.9;
		context.stroke();
		if (heads.length <= wide / 6)
			for (const [x, y, d] of heads) {
				context.beginPath();
				context.moveTo(x, y);
				context.lineTo(x - 3.5, y + 6 * d);
				context.lineTo(x + 3.5, y + 6 * d);
				context.fill();
			}
		context.globalAlpha = 1;
	}

	/* From who released to who waited. */
	paintHover(context, scale) {
		const { lane, i, l } = this.hover;
		if (lane.releaser[i] < 0) return;
		context.strokeStyle = color('fg');
		context.lineWidth = 2;
		context.beginPath();
		context.moveTo(this.left + (lane.now[i] - lane.latency[i] - this.from) * scale, this.rowAt(this.rowOf[lane.releaser[i]]) + this.high / 2);
		context.lineTo(this.left + (lane.now[i] - this.from) * scale, this.rowAt(this.rowOf[l]) + this.high / 2);
		context.stroke();
	}

	view(from, to) {
		const span = Math.max(SPAN_LEAST, Math.min(this.end, to - from));
		this.from = Math.max(0, Math.min(this.end - span, from));
		this.to = this.from + span;
		this.redraw();
	}

	zoom(factor, at = (this.from + this.to) / 2) {
		const span = Math.max(SPAN_LEAST, Math.min(this.end, (this.to - this.from) * factor));
		const part = (at - this.from) / (this.to - this.from);
		this.view(at - part * span, at - part * span + span);
	}

	move(by) { this.view(this.from + by, this.to + by); }

	/* To the next (@step 1) or previous (-1) hop. */
	hop(step) {
		const middle = (this.from + this.to) / 2;
		let best = null;
		this.lanes.forEach((lane, l) => {
			for (const i of this.hops[l]) {
				const at = lane.now[i] - lane.latency[i];
				if ((at - middle) * step > 0.5 && (best === null || (best - at) * step > 0)) best = at;
			}
		});
		if (best !== null) this.move(best - middle);
	}

	/* Lane, number and event at a place of the canvas. */
	eventAt(x, y) {
		const r = Math.floor((y - this.axis + this.gap / 2) / (this.high + this.gap)), row = this.rows[r];
		if (!row || x < this.left) return null;
		return this.eventIn(row.lanes, this.timeAt(x));
	}

	eventIn(lanes, time) {
		for (const l of lanes) {
			const lane = this.lanes[l], i = firstAfter(lane.now, lane.events, time);
			if (i < lane.events && lane.from[i] <= time) return { lane, l, i };
		}
		return null;
	}

	timeAt(x) {
		return this.from + (x - this.left) / (this.width - this.left - 6) * (this.to - this.from);
	}

	zoomTo(found) {
		const { lane, i } = found, margin = Math.max(SPAN_LEAST, (lane.now[i] - lane.from[i]) * 0.15);
		this.view(lane.from[i] - margin, lane.now[i] + margin);
		this.say.textContent = eventText(this.lanes, lane, i).replaceAll('\n', '; ');
	}

	/* The event in the middle: the one on the path, else any. */
	zoomToMiddle() {
		const middle = (this.from + this.to) / 2, all = this.lanes.map((lane, l) => l);
		const on = all.map((l) => this.eventIn([l], middle)).filter(Boolean);
		const best = on.find((found) => partOnPath(found.lane, found.i, this.mode)) || on[0];
		if (best) this.zoomTo(best);
	}

	setMode(mode) {
		this.mode = mode;
		this.redraw();
	}

	listen() {
		const target = this.canvas;
		target.addEventListener('wheel', (event) => {
			if (!event.ctrlKey && !event.shiftKey && !event.altKey) return;
			event.preventDefault();
			this.zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
		}, { passive: false });
		let drag = null;
		target.addEventListener('pointerdown', (event) => {
			drag = { x: event.clientX, from: this.from, to: this.to };
			target.setPointerCapture(event.pointerId);
		});
		target.addEventListener('pointerup', () => { drag = null; });
		target.addEventListener('pointermove', (event) => {
			if (drag) {
				const by = (drag.x - event.clientX) / (this.width - this.left - 6) * (drag.to - drag.from);
				this.view(drag.from + by, drag.to + by);
				return;
			}
			const found = this.eventAt(event.offsetX, event.offsetY);
			if (found) showTip(event, eventText(this.lanes, found.lane, found.i));
			else hideTip();
			if ((found && found.i) !== (this.hover && this.hover.i)) {
				this.hover = found;
				target.redraw();
			}
		});
		target.addEventListener('pointerleave', () => { this.hover = null; hideTip(); target.redraw(); });
		target.addEventListener('dblclick', (event) => {
			const found = this.eventAt(event.offsetX, event.offsetY);
			if (found) this.zoomTo(found);
		});
		target.addEventListener('keydown', (event) => {
			const span = this.to - this.from;
			const act = new Map([
				['ArrowLeft', () => this.move(-span / 8)], ['ArrowRight', () => this.move(span / 8)],
				['+', () => this.zoom(0.5)], ['=', () => this.zoom(0.5)], ['-', () => this.zoom(2)],
				['0', () => this.view(0, this.end)], ['n', () => this.hop(1)], ['p', () => this.hop(-1)],
				['e', () => this.zoomToMiddle()],
			]).get(event.key);
			if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
			event.preventDefault();
			act();
		});
		this.map.addEventListener('pointerdown', (event) => {
			const at = (event.offsetX - this.left) / (this.width - this.left - 6) * this.end;
			this.move(at - (this.from + this.to) / 2);
		});
	}
}

function timeline() {
	const lanes = decodeEvents();
	if (!lanes || !lanes.length)
		return section('timeline', 'Timeline: threads, and the path across them',
			'A page made from a dump with a journal shows each event here: cpa run --journal, then cpa view.');
	const line = new Timeline(lanes), described = data.timeline;
	const pieces = el('div');
	const modes = [[OBSERVED, 'observed path'], [CRITICAL, 'critical path']].map(([mode, text]) => el('button', {
		type: 'button', 'aria-pressed': String(mode === OBSERVED), onclick: (event) => {
			modes.forEach((each) => each.setAttribute('aria-pressed', String(each === event.currentTarget)));
			line.setMode(mode);
			fill(mode);
		} }, text));
	const button = (text, label, act) => el('button', { type: 'button', 'aria-label': label, onclick: act }, text);
	const go = (row) => { line.zoomTo(row); line.canvas.focus(); };
	const fill = (mode) => pieces.replaceChildren(pathTable(lanes, mode, go));
	fill(OBSERVED);
	line.listen();
	painters.splice(painters.indexOf(line.map), 1);
	painters.splice(painters.indexOf(line.canvas), 1);
	painters.push({ get isConnected() { return line.canvas.isConnected; }, redraw: () => line.redraw() });
	const notes = [
		described.overwritten ? `The journal was too small: ${number(described.overwritten)} events at the beginning were overwritten.` : null,
		described.left_out ? `${number(described.left_out)} of ${number(described.events)} events, the shortest, are not listed one by one; the columns hold them.` : null,
		described.threads > lanes.length ? `${described.threads - lanes.length} threads with least time are left out.` : null,
	].filter(Boolean);

	return section('timeline', 'Timeline: threads, and the path across them',
		'Each lane is a thread. What is on the path is strong, the rest pale. An arrow goes from the release that let the path go ' +
		'on to the thread that went on. A column shows the shares of its time.',
		el('div', { cls: 'tools' }, modes, el('span', { cls: 'grow' }),
			el('button', { type: 'button', 'aria-pressed': 'true', onclick: (event) => {
				line.pack(!line.packed);
				event.currentTarget.setAttribute('aria-pressed', String(line.packed));
				line.redraw();
			} }, 'threads in turn share a lane'),
			button('+', 'zoom in', () => line.zoom(0.5)), button('−', 'zoom out', () => line.zoom(2)),
			button('all', 'the whole run', () => line.view(0, line.end)),
			button('◂ hop', 'previous hop', () => line.hop(-1)), button('hop ▸', 'next hop', () => line.hop(1)),
			button('event', 'zoom to the event in the middle', () => line.zoomToMiddle())),
		el('div', { cls: 'frame' }, line.map, line.canvas),
		legend([['work', 'work'], ['queue', 'ready, no processor'], ['outside', 'blocked outside'], ['wait', 'waits'],
			['other', 'released, not yet back'], ['plain', 'cpa itself'], ['path', 'on the path']]),
		el('p', { cls: 'about' }, line.say),
		notes.map((text) => el('div', { cls: 'note' }, text)),
		el('details', {}, el('summary', {}, 'The path as a table: its longest pieces'), pieces));
}
