/* locks.js - locks, conditions, barriers, semaphores; queues */

/* Who waited for whom, from the journal. */
function waits() {
	const rows = data.waits || [];
	if (!rows.length) return null;
	return el('div', {}, el('h3', {}, 'Who waited for whom'),
		longTable([
			{ title: 'waited', value: (row) => row.wait_s, format: seconds, bar: 'queue', max: most(rows, (row) => row.wait_s) },
			{ title: 'waits', value: (row) => row.count, format: number },
			{ title: 'longest', value: (row) => row.longest_s, format: seconds },
			{ title: 'on the path', value: (row) => row.crossed, format: number, help: 'waits at which the observed path came from the releaser' },
			{ title: 'waiting', value: (row) => row.waiter || '', text: true },
			{ title: 'released by', value: (row) => row.releaser || 'not known, or before the wait', text: true },
			{ title: 'at', value: (row) => row.kind || '', text: true },
			{ title: 'of', value: (row) => row.class || '', text: true },
		], rows, { by: 0, label: 'Who waited for whom' }, 12));
}

function locks() {
	const rows = report.objects;
	if (!rows.length) return waits() && section('locks', 'Waits', null, waits());
	const top = (key) => most(rows, (row) => row[key]);
	return section('locks', 'Locks, conditions, barriers',
		'Waiting alone is no loss. What counts is "saves": what the critical path loses without the critical sections.',
		longTable([
			{ title: 'saves', value: (row) => row.saved_s, format: seconds, bar: 'path', max: top('saved_s') },
			...marginColumn((row) => row.saved_margin_s, seconds),
			{ title: 'waited', value: (row) => row.wait_s, format: seconds, bar: 'queue', max: top('wait_s'),
				help: 'sum over all threads' },
			...marginColumn((row) => row.wait_margin_s, seconds),
			{ title: 'held', value: (row) => row.hold_s, format: seconds, bar: 'work', max: top('hold_s') },
			...marginColumn((row) => row.hold_margin_s, seconds),
			{ title: 'acquired', value: (row) => row.acquisitions, format: number },
			{ title: 'contended', value: (row) => share(row.contended, row.acquisitions), format: percent },
			{ title: 'hand-offs', value: (row) => row.handoffs, format: number },
			{ title: 'objects', value: (row) => row.objects, format: number },
			{ title: 'kind', value: (row) => row.kind, text: true },
			{ title: 'class', value: (row) => row.class, text: true },
			{ title: 'where', value: (row) => baseName(row.location), text: true },
		], rows, { by: 0, label: 'Locks' }, 12), waits());
}

function masterText(master) {
	if (!master.applies) return null;
	return `With ${master.workers} workers a path of ${seconds(master.path_s)}; the master-and-workers model has its best, ` +
		`${seconds(master.best_path_s)}, with ${master.best_workers}.`;
}

/* Items of a queue over time, from the journal. */
function depthChart(row, i) {
	const depth = (data.depths || []).find((each) => each.queue === i);
	if (!depth || !depth.in.some((count) => count > 0)) return null;
	const end = data.timeline.end_ns / 1e9, bins = depth.mean.length, top = most(depth.mean, (value) => value) * 1.1;
	const chart = canvas(110, { 'aria-label': `Items in the queue over time, at most ${number(Math.max(...depth.mean))} on average of a part` },
		(context, width, height) => {
			const left = 70, x = (at) => left + (width - left - 6) * at / end, y = (value) => height - 20 - (height - 28) * value / top;
			context.fillStyle = color('work');
			depth.mean.forEach((value, k) => context.fillRect(x(end * k / bins), y(value), (width - left - 6) / bins + 0.3, y(0) - y(value)));
			context.fillStyle = color('dim');
			context.fillText('items', 8, 16);
			context.fillText(number(Number((top / 1.1).toPrecision(3))), 8, y(top / 1.1) + 12);
			timeAxis(context, x, end, height);
		});
	return el('div', {}, el('h3', {}, 'Items in ', el('span', { cls: 'name' }, row.name), ' over time'), chart);
}

function queues() {
	const rows = report.queues;
	if (!rows.length) return null;
	const top = (key) => most(rows, (row) => row[key]);
	return section('queues', 'Queues', 'How long items waited, how long they took, and which side limits.',
		longTable([
			{ title: 'saves', value: (row) => row.saved_s, format: seconds, bar: 'path', max: top('saved_s'),
				help: 'what the critical path loses if processing the items costs nothing' },
			...marginColumn((row) => row.saved_margin_s, seconds),
			{ title: 'items', value: (row) => row.dequeued, format: number },
			{ title: 'mean wait', value: (row) => row.item_wait_s, format: seconds, help: 'of an item in the queue' },
			...marginColumn((row) => row.item_wait_margin_s, seconds),
			{ title: 'wait p50', value: (row) => row.item_wait_p50_s, format: seconds },
			{ title: 'wait p99', value: (row) => row.item_wait_p99_s, format: seconds },
			{ title: 'an item takes', value: (row) => row.service_s, format: seconds },
			{ title: 'mean depth', value: (row) => row.mean_depth, format: number },
			{ title: 'deepest', value: (row) => row.max_depth, format: number },
			{ title: 'producers', value: (row) => row.producers },
			{ title: 'consumers', value: (row) => row.consumers },
			{ title: 'idle', value: (row) => row.consumers_idle, format: percent, help: 'share of the consumers’ time' },
			{ title: 'limit', value: (row) => row.limit || '', text: true },
			{ title: 'queue', value: (row) => row.name, text: true },
		], rows, { by: 0, label: 'Queues' }, 12),
		rows.slice(0, 8).map(depthChart),
		el('ul', {}, rows.slice(0, 12).map((row) => [row, [row.limit_reason, masterText(row.master)].filter(Boolean).join(' ')])
			.filter(([, text]) => text)
			.map(([row, text]) => el('li', {}, el('span', { cls: 'name' }, row.name), ': ' + text))));
}
