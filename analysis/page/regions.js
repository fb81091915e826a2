/* regions.js - parallel regions of OpenMP: how even the work of their threads is */

function regions() {
	const openmp = report.openmp;
	if (!openmp?.rows.length) return null;
	const rows = openmp.rows;
	const top = (key) => most(rows, (row) => row[key]);
	const busiest = (row) => row.threads[0]?.work_s;
	const efficiency = (key, help) =>
		({ title: key.replaceAll('_', ' '), value: (row) => row.efficiency[key], format: percent, bar: 'other', max: 1, help });
	return section('regions', 'Parallel regions',
		`In parallel regions ${seconds(openmp.parallel_s)}, outside ${seconds(openmp.serial_s)}. With the work of all of them balanced the critical path is ${seconds(openmp.balanced_saved_s)} shorter.`,
		longTable([
			{ title: 'balanced', value: (row) => row.balanced_saved_s, format: seconds, bar: 'saves', max: top('balanced_saved_s'),
				help: 'what the critical path would lose if between barriers each thread had the mean work' },
			{ title: 'busiest', value: busiest, format: seconds, bar: 'work', max: most(rows, busiest), help: 'work of the thread with most' },
			{ title: 'mean', value: (row) => row.work_s / row.threads.length, format: seconds, bar: 'work', max: most(rows, busiest),
				help: 'work of all its threads on average' },
			{ title: 'waits', value: (row) => row.wait_s, format: seconds, bar: 'queue', max: top('wait_s'), help: 'of all threads in barriers' },
			efficiency('load_balance', 'mean / busiest'),
			efficiency('serialisation', 'busiest / longest chain of this work'),
			efficiency('transfer', 'longest chain / time from begin to end'),
			{ title: 'times', value: (row) => row.instances, format: number },
			{ title: 'threads', value: (row) => row.threads.length, format: number },
			{ title: 'region', value: (row) => (row.kind === 'construct' ? '– ' : '') + row.name, text: true },
			{ title: 'where', value: (row) => row.location ?? '', text: true },
		], rows, { by: -1, label: 'Parallel regions' }, 12));
}
