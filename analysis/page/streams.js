/* streams.js - pipes and sockets: who writes, who reads, and which side limits */

/* A figure of the threads at the side that the other one waits for: @key, after from_ or to_. */
function atLimit(row, key) {
	return row.limit === 'writer' ? row['from_' + key] : row.limit === 'reader' ? row['to_' + key] : null;
}

function streams() {
	const rows = report.streams;
	if (!rows.length) return null;
	const predicted = rows.some((row) => row.saved_s !== null);
	const top = (key) => most(rows, (row) => row[key]);
	return section('streams', 'Streams', 'Pipes and sockets: how long readers waited for data, writers for room, and bytes for a reader.',
		longTable([
			{ title: 'starved', value: (row) => row.reader_wait_s, format: seconds, bar: 'queue', max: top('reader_wait_s'),
				help: 'how long readers waited for data' },
			...marginColumn((row) => row.reader_wait_margin_s, seconds),
			{ title: 'blocked', value: (row) => row.writer_wait_s, format: seconds, bar: 'queue', max: top('writer_wait_s'),
				help: 'how long writers waited for room' },
			...marginColumn((row) => row.writer_wait_margin_s, seconds),
			{ title: 'limit', value: (row) => row.limit, text: true, help: 'the side that the other one waits for' },
			{ title: 'path', value: (row) => share(atLimit(row, 'critical_path_s'), report.program.critical_path_s), format: percent,
				help: 'critical path of the threads at the limiting side' },
			...marginColumn((row) => share(atLimit(row, 'critical_path_margin_s'), report.program.critical_path_s), percent),
			...(predicted ? [{ title: 'saves', value: (row) => row.saved_s, format: seconds, bar: 'path', max: top('saved_s'),
				help: 'of the run, replayed, if messages took no time and found room' }] : []),
			{ title: 'streams', value: (row) => row.streams, format: number },
			{ title: 'bytes', value: (row) => row.bytes, format: number },
			{ title: 'writes', value: (row) => row.writes, format: number },
			{ title: 'mean', value: (row) => row.messages ? row.stay_s : null, format: seconds, help: 'from a write to the read of its last byte' },
			{ title: 'p99', value: (row) => row.messages ? row.stay_p99_s : null, format: seconds, help: 'exact to 12 %' },
			{ title: 'kind', value: (row) => row.kind, text: true },
			{ title: 'writer', value: (row) => row.from ?? '(outside)', text: true },
			{ title: 'reader', value: (row) => row.to ?? '(outside)', text: true },
		], rows, { by: -1, label: 'Streams' }, 12));
}
