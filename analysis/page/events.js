/*
 * events.js - the events of the journal, decoded
 *
 * analysis/page/html_lanes.h has the format. A lane has an array for each of an event's values, by
 * its number in the lane; times are ns since the start of the run.
 */
const ON_CRITICAL = 1, ON_ACTIVITY = 2, ON_WAIT = 4;
const IS_WORK = 8, WAITS = 16, RELEASED = 32, HAS_SHARES = 64, HAS_GAP = 128;
const SHARES = 8;
/* Shares of a bin, and of a column of the picture. */
const [WORK, OUTSIDE, QUEUE, WAIT, WOKEN, OTHER, CRITICAL, OBSERVED] = Array(SHARES).keys();

function fromBase64(text) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
	const raw = atob(text), bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
	return bytes;
}

function decodeLane(lane, bytes) {
	const n = lane.events;
	let at = lane.events_at, time = lane.begin_ns;
	/* Times may be longer than 32 bits: multiplied, not shifted. */
	function varint() {
		let value = 0, factor = 1, byte;
		do {
			byte = bytes[at++];
			value += (byte & 127) * factor;
			factor *= 128;
		} while (byte & 128);
		return value;
	}
	lane.from = new Float64Array(n);
	lane.arrived = new Float64Array(n);
	lane.now = new Float64Array(n);
	lane.process = new Float32Array(n);
	lane.external = new Float32Array(n);
	lane.runqueue = new Float32Array(n);
	lane.waitExternal = new Float32Array(n);
	lane.waitRunqueue = new Float32Array(n);
	lane.latency = new Float64Array(n);
	lane.node = new Uint32Array(n);
	lane.component = new Uint32Array(n);
	lane.releaser = new Int16Array(n).fill(-1);
	lane.flags = new Uint8Array(n);
	for (let i = 0; i < n; i++) {
		const flags = lane.flags[i] = bytes[at++];
		if (flags & HAS_GAP) time += varint();
		lane.node[i] = varint();
		lane.component[i] = varint();
		lane.from[i] = time;
		time += varint();
		lane.arrived[i] = time;
		if (flags & IS_WORK) {
			lane.process[i] = time - lane.from[i];
		} else {
			lane.process[i] = varint();
			lane.external[i] = varint();
			lane.runqueue[i] = varint();
		}
		if (flags & WAITS) time += varint();
		if (flags & HAS_SHARES) {
			lane.waitExternal[i] = varint();
			lane.waitRunqueue[i] = varint();
		}
		if (flags & RELEASED) {
			lane.releaser[i] = varint();
			lane.latency[i] = varint();
		}
		lane.now[i] = time;
	}
	lane.shares = bytes.subarray(lane.bins_at, lane.bins_at + lane.bins * SHARES);
}

/* The lanes, or null without a journal. */
function decodeEvents() {
	if (!data.timeline) return null;
	const text = document.getElementById('events');
	const bytes = fromBase64(text.textContent);
	text.remove();
	for (const lane of data.timeline.lanes) decodeLane(lane, bytes);
	return data.timeline.lanes;
}

/* The first of the @n sorted @times that is later than @time. */
function firstAfter(times, n, time) {
	let low = 0, high = n;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (times[middle] <= time) low = middle + 1;
		else high = middle;
	}
	return low;
}

function laneName(lane) {
	const name = lane.name || lane.class || 'thread';
	return lane.tid ? `${name} ${lane.tid}` : name;
}

/* A node of the activity graph, as report.pag has it. */
const nodeOf = (() => {
	let nodes = null;
	return (id) => {
		if (!nodes) nodes = new Map(report.pag.nodes.map((node) => [node.id, node]));
		return nodes.get(id);
	};
})();

function nodeText(id) {
	const node = nodeOf(id);
	if (!node) return '';
	return [node.kind, node.class, node.site ? `in ${node.site}` : ''].filter(Boolean).join(' ');
}

/* Part @from to @to, in ns, of event @i that is on the path of @mode; null if none is. */
function partOnPath(lane, i, mode) {
	const flags = lane.flags[i];
	if (mode === CRITICAL) return flags & ON_CRITICAL ? [lane.from[i], lane.arrived[i]] : null;
	if (!(flags & (ON_ACTIVITY | ON_WAIT))) return null;
	const wait = lane.latency[i] || flags & RELEASED ? lane.now[i] - lane.latency[i] : lane.arrived[i];
	return [flags & ON_ACTIVITY ? lane.from[i] : wait, flags & ON_WAIT ? lane.now[i] : lane.arrived[i]];
}
