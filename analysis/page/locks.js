/* locks.js - locks, conditions, barriers, semaphores; queues */

function locks() {
	const rows = report.objects;
	if (!rows.length) return null;
	const top = (key) => most(rows, (row) => row[key]);
	return section('locks', 'Locks, conditions, barriers',
		'Waiting alone is no loss. What counts is "saves": what the critical path loses without the critical sections.',
		longTable([
			{ title: 'saves', value: (row) => row.saved_s, format: seconds, bar: 'path', max: top('saved_s') },
			{ title: 'waited', value: (row) => row.wait_s, format: seconds, bar: 'queue', max: top('wait_s'),
				help: 'sum over all threads' },
			{ title: 'held', value: (row) => row.hold_s, format: seconds, bar: 'work', max: top('hold_s') },
			{ title: 'acquired', value: (row) => row.acquisitions, format: number },
			{ title: 'contended', value: (row) => share(row.contended, row.acquisitions), format: percent },
			{ title: 'hand-offs', value: (row) => row.handoffs, format: number },
			{ title: 'objects', value: (row) => row.objects, format: number },
			{ title: 'kind', value: (row) => row.kind, text: true },
			{ title: 'class', value: (row) => row.class, text: true },
			{ title: 'where', value: (row) => baseName(row.location), text: true },
		], rows, { by: 0, label: 'Locks' }, 12));
}

function masterText(master) {
	if (!master.applies) return null;
	return `With ${master.workers} workers a path of ${seconds(master.path_s)}; the master-and-workers model has its best, ` +
		`${seconds(master.best_path_s)}, with ${master.best_workers}.`;
}

function queues() {
	const rows = report.queues;
	if (!rows.length) return null;
	const top = (key) => most(rows, (row) => row[key]);
	return section('queues', 'Queues', 'How long items waited, how long they took, and which side limits.',
		longTable([
			{ title: 'saves', value: (row) => row.saved_s, format: seconds, bar: 'path', max: top('saved_s'),
				help: 'what the critical path loses if processing the items costs nothing' },
			{ title: 'items', value: (row) => row.dequeued, format: number },
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
		el('ul', {}, rows.slice(0, 12).map((row) => [row, [row.limit_reason, masterText(row.master)].filter(Boolean).join(' ')])
			.filter(([, text]) => text)
			.map(([row, text]) => el('li', {}, el('span', { cls: 'name' }, row.name), ': ' + text))));
}
