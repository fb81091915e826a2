/*
 * columns.js - the picture of the lanes: a stack of shares for each column of pixels and each row
 *
 * A column holds what was done in its time, so it means the same at each zoom. If few events are in
 * view they are added up; else the bins, which hold all events. So the time to draw does not
 * depend on the length of the run.
 */
const EVENTS_DRAWN = 20000;

function visibleEvents(lane, from, to) {
	return [firstAfter(lane.now, lane.events, from), firstAfter(lane.from, lane.events, to)];
}

/* Whether [from, to] is drawn from events, all of which the page must have then. */
function drawnFromEvents(lanes, from, to) {
	let count = 0;
	for (const lane of lanes) {
		const [first, end] = visibleEvents(lane, from, to);
		count += end - first;
		if (count > EVENTS_DRAWN) return false;
		if (data.timeline.left_out)
			for (let i = first; i <= end && i < lane.events; i++) if (lane.flags[i] & HAS_GAP) return false;
	}
	return !data.timeline.left_out || count > 0;
}

/* Add @amount (of 1) of kind @share over the columns of [from, to], in columns, to @sums. */
function addColumns(sums, width, from, to, share, amount) {
	if (amount <= 0 || to <= 0 || from >= width || to <= from) return;
	const first = Math.max(0, Math.floor(from)), last = Math.min(width - 1, Math.floor(to));
	if (first === last) {
		sums[first * SHARES + share] += (Math.min(to, width) - Math.max(from, 0)) * amount;
		return;
	}
	for (let p = first; p <= last; p++) {
		const part = Math.min(to, p + 1) - Math.max(from, p);
		if (part > 0) sums[p * SHARES + share] += part * amount;
	}
}

function addEvents(sums, width, lane, from, scale, first, end) {
	for (let i = first; i < end; i++) {
		const begin = (lane.from[i] - from) * scale, arrived = (lane.arrived[i] - from) * scale;
		const length = lane.arrived[i] - lane.from[i];
		if (length > 0) {
			const work = lane.process[i] / length, outside = lane.external[i] / length, queue = lane.runqueue[i] / length;
			addColumns(sums, width, begin, arrived, WORK, work);
			addColumns(sums, width, begin, arrived, OUTSIDE, outside);
			addColumns(sums, width, begin, arrived, QUEUE, queue);
			addColumns(sums, width, begin, arrived, OTHER, 1 - work - outside - queue);
			if (lane.flags[i] & ON_CRITICAL) addColumns(sums, width, begin, arrived, CRITICAL, 1);
		}
		if (lane.flags[i] & WAITS) {
			const released = (lane.now[i] - lane.latency[i] - from) * scale, now = (lane.now[i] - from) * scale;
			const wait = lane.now[i] - lane.latency[i] - lane.arrived[i];
			if (wait > 0) {
				const outside = lane.waitExternal[i] / wait, queue = lane.waitRunqueue[i] / wait;
				addColumns(sums, width, arrived, released, OUTSIDE, outside);
				addColumns(sums, width, arrived, released, QUEUE, queue);
				addColumns(sums, width, arrived, released, WAIT, 1 - outside - queue);
			}
			addColumns(sums, width, released, now, WOKEN, 1);
		}
		const part = partOnPath(lane, i, OBSERVED);
		if (part) addColumns(sums, width, (part[0] - from) * scale, (part[1] - from) * scale, OBSERVED, 1);
	}
}

function addBins(sums, width, lane, from, to, scale) {
	const size = data.timeline.end_ns / lane.bins || 1;
	const first = Math.max(0, Math.floor(from / size)), end = Math.min(lane.bins, Math.ceil(to / size));
	for (let i = first; i < end; i++) {
		const begin = (i * size - from) * scale, stop = ((i + 1) * size - from) * scale;
		for (let k = 0; k < SHARES; k++) {
			const value = lane.shares[i * SHARES + k];
			if (value) addColumns(sums, width, begin, stop, k, value / 255);
		}
	}
}

/* Sums of each row: [width][SHARES], from ns @from to @to. @rowOf: of each lane. */
function sumColumns(lanes, rowOf, rows, width, from, to) {
	const sums = Array.from({ length: rows }, () => new Float32Array(width * SHARES));
	const scale = width / (to - from), events = drawnFromEvents(lanes, from, to);
	lanes.forEach((lane, l) => {
		if (lane.end_ns < from || lane.begin_ns > to) return;
		if (events) addEvents(sums[rowOf[l]], width, lane, from, scale, ...visibleEvents(lane, from, to));
		else addBins(sums[rowOf[l]], width, lane, from, to, scale);
	});
	return { sums, events };
}

/* "#rgb" or "#rrggbb" over @ground with @strength, as a pixel. */
function pixel(text, ground, strength) {
	const parts = (hex) => {
		const long = hex.length === 4 ? hex.replace(/#(.)(.)(.)/, '#$1$1$2$2$3$3') : hex;
		return [1, 3, 5].map((i) => parseInt(long.slice(i, i + 2), 16));
	};
	const over = parts(text), under = parts(ground);
	const [r, g, b] = over.map((value, i) => Math.round(value * strength + under[i] * (1 - strength)));
	return 0xff000000 | b << 16 | g << 8 | r;
}

/*
 * Paint rows of @sums into @pixels, an array of width * height: row r from y(r) on, @high tall, with a line of the
 * path above. What is off the path of @mode is pale.
 */
function paintRows(pixels, width, sums, mode, y, high, mark) {
	const ground = color('bg'), red = pixel(color('path'), ground, 1);
	const stack = [[WORK, 'work'], [OUTSIDE, 'outside'], [QUEUE, 'queue'], [OTHER, 'plain'], [WOKEN, 'other'], [WAIT, 'wait']];
	const colors = stack.map(([share, name]) => [share, pixel(color(name), ground, 1), pixel(color(name), ground, 0.38)]);
	sums.forEach((row, r) => {
		const bottom = y(r) + high;
		for (let p = 0; p < width; p++) {
			const on = row[p * SHARES + mode] > 0.001;
			let at = 0;
			for (const [share, strong, pale] of colors) {
				const value = row[p * SHARES + share];
				if (value <= 0) continue;
				const from = Math.round(Math.min(1, at) * high);
				at += value;
				const to = Math.round(Math.min(1, at) * high);
				for (let k = from; k < to; k++) pixels[(bottom - 1 - k) * width + p] = on ? strong : pale;
			}
			if (on) for (let k = 1; k <= mark; k++) pixels[(y(r) - k) * width + p] = red;
		}
	});
}
