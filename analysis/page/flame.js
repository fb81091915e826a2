/*
 * flame.js - what was active together, on a path or in all: thread, region, queue, lock, function; and
 * who called whom
 *
 * The trees of data.stacks and of report.callers. A frame's width is its time; below it stands what was
 * active during it, or what it called.
 */
const FRAME = 20;
const KINDS_OF_FRAME = new Map([['thread', 'work'], ['lock', 'queue'], ['region', 'other'], ['queue', 'other'],
	['external', 'outside'], ['function', 'path']]);

function frameName(node) {
	if (node.name !== undefined) return node.name;
	if (node.component === null) return node.parent ? '(not sampled)' : 'all';
	const component = report.components[node.component];
	return component.kind === 'function' ? component.name : `${component.kind} ${component.name}`;
}

function linkFrames(node, parent, depth) {
	node.parent = parent;
	node.depth = depth;
	node.children.forEach((child) => linkFrames(child, node, depth + 1));
}

function deepest(node) {
	return Math.max(node.depth, ...node.children.map(deepest));
}

class Flame {
	/* @key: that of the time to show first. */
	constructor(root, key) {
		this.root = this.top = this.at = root;
		this.key = key;
		linkFrames(root, null, 0);
		this.say = el('span', { 'aria-live': 'polite' });
		this.canvas = canvas((deepest(root) + 1) * FRAME + 4, { tabindex: 0, role: 'application',
			'aria-label': 'Flame graph. Arrow keys go to the frame before, after, above and below; Enter makes it as wide as the ' +
				'graph, Escape shows all. The same is in the table below.' },
		(context, width) => this.paint(context, width));
		this.listen();
	}

	/* Children that have time, the longest first. */
	frames(node) {
		return node.children.filter((child) => child[this.key] > 0).sort((a, b) => b[this.key] - a[this.key]);
	}

	paint(context, width) {
		this.places = [];
		const draw = (node, x, wide) => {
			if (wide < 0.5) return;
			const y = 2 + node.depth * FRAME;
			this.places.push({ node, x, wide, y });
			const component = node.component === null ? null : report.components[node.component];
			context.globalAlpha = 0.3;
			context.fillStyle = color(component ? KINDS_OF_FRAME.get(component.kind) || 'plain' : 'plain');
			context.fillRect(x, y, Math.max(0.5, wide - 1), FRAME - 1);
			context.globalAlpha = 1;
			if (node === this.at || (component && component === chosen.component)) {
				context.strokeStyle = color('fg');
				context.lineWidth = 2;
				context.strokeRect(x + 1, y + 1, Math.max(1, wide - 3), FRAME - 3);
			}
			context.fillStyle = color('fg');
			if (wide > 30) context.fillText(fitted(context, frameName(node), wide - 8), x + 4, y + 14);
		};
		const down = (node, x, wide) => {
			draw(node, x, wide);
			for (const child of this.frames(node)) {
				const part = wide * child[this.key] / (node[this.key] || 1);
				down(child, x, part);
				x += part;
			}
		};
		for (let node = this.top.parent; node; node = node.parent) draw(node, 0, width);
		down(this.top, 0, width);
	}

	text(node) {
		const names = [];
		for (let each = node; each.parent; each = each.parent) names.unshift(frameName(each));
		return `${names.join(' › ') || 'all'}: ${seconds(node[this.key])}, ${percent(share(node[this.key], this.root[this.key]))}`;
	}

	go(node) {
		if (!node) return;
		this.at = node;
		this.say.textContent = this.text(node);
		this.canvas.redraw();
	}

	zoom(node) {
		this.top = node;
		this.go(node);
	}

	beside(step) {
		const same = this.at.parent ? this.frames(this.at.parent) : [];
		return same[same.indexOf(this.at) + step];
	}

	show(key) {
		this.key = key;
		this.zoom(this.root);
	}

	find(event) {
		const place = this.places.find((each) => event.offsetX >= each.x && event.offsetX < each.x + each.wide &&
			event.offsetY >= each.y && event.offsetY < each.y + FRAME);
		return place && place.node;
	}

	listen() {
		this.canvas.addEventListener('pointermove', (event) => {
			const node = this.find(event);
			if (node) showTip(event, this.text(node));
			else hideTip();
		});
		this.canvas.addEventListener('pointerleave', hideTip);
		this.canvas.addEventListener('click', (event) => { const node = this.find(event); if (node) this.zoom(node); });
		this.canvas.addEventListener('keydown', (event) => {
			const act = new Map([
				['ArrowUp', () => this.go(this.at.parent)], ['ArrowDown', () => this.go(this.frames(this.at)[0])],
				['ArrowLeft', () => this.go(this.beside(-1))], ['ArrowRight', () => this.go(this.beside(1))],
				['Enter', () => this.zoom(this.at)], ['Escape', () => this.zoom(this.root)],
			]).get(event.key);
			if (!act) return;
			event.preventDefault();
			act();
		});
	}
}

function flameRows(root) {
	const rows = [];
	const add = (node) => { if (node.parent) rows.push(node); node.children.forEach(add); };
	add(root);
	return rows;
}

/* @weights: keys of times, and their texts. */
function flameSection(id, title, about, what, root, weights) {
	const graph = new Flame(root, weights[0][0]), rows = flameRows(root);
	const buttons = weights.map(([key, text]) => el('button', { type: 'button', 'aria-pressed': String(key === graph.key),
		onclick: (event) => {
			buttons.forEach((each) => each.setAttribute('aria-pressed', String(each === event.currentTarget)));
			graph.show(key);
		} }, text));
	chosen.changed.push(() => { if (graph.canvas.isConnected) graph.canvas.redraw(); });
	graph.say.textContent = graph.text(graph.root);
	return section(id, title, about,
		el('div', { cls: 'tools' }, buttons), el('div', { cls: 'frame' }, graph.canvas), el('p', { cls: 'about' }, graph.say),
		el('details', {}, el('summary', {}, 'The same as a table'), longTable([
			...weights.map(([key, text]) => ({ title: text, value: (row) => row[key], format: seconds })),
			{ title: what, value: (row) => {
				const names = [];
				for (let each = row; each.parent; each = each.parent) names.unshift(frameName(each));
				return names.join(' › ');
			}, text: true },
		], rows, { by: 0, label: title }, 20)));
}

function flame() {
	if (!data.stacks || !data.stacks.children.length) return null;
	return flameSection('flame', 'Flame graph: thread, region, lock, function',
		'What was active together, from the journal: a frame is as wide as its time, and what was active during it stands below. ' +
		'Functions are known by samples. A click makes a frame as wide as the graph.', 'active together', data.stacks,
		[['critical_s', 'critical path'], ['observed_s', 'observed path'], ['all_s', 'all threads']]);
}

/* The tree of calling contexts: each with the times of what it called. A caller comes before those it called. */
function callersTree() {
	const functions = new Map(report.components.map((each, i) => [each, i]).filter(([each]) => each.kind === 'function')
		.map(([each, i]) => [each.name, i]));
	const root = { name: 'all', component: null, critical_path_s: 0, cpu_s: 0, children: [] }, nodes = new Map([[0, root]]);
	for (const each of report.callers.contexts) {
		const node = { name: each.name, component: functions.has(each.name) ? functions.get(each.name) : null,
			critical_path_s: 0, cpu_s: 0, children: [] };
		nodes.set(each.id, node);
		node.above = nodes.get(each.caller) || root;
		node.above.children.push(node);
		for (let at = node; at; at = at.above) {
			at.critical_path_s += each.critical_path_s;
			at.cpu_s += each.cpu_s;
		}
	}
	return root;
}

function callers() {
	if (!report.callers || !report.callers.contexts.length) return null;
	return flameSection('callers', 'Flame graph: who called whom',
		'The threads’ starts are above, and what a function called stands below it. The widths are estimates by ' +
		`${report.callers.stacks_on_path} stacks on the critical path, of ${report.callers.stacks}; those of a function add up to its time.`,
		'calls', callersTree(), [['critical_path_s', 'critical path'], ['cpu_s', 'CPU time']]);
}
