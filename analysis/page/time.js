/* time.js - how many threads worked, waited, were ready; phases */

const KINDS_OVER_TIME = [
	['t_cpu_s', 'work', 'working'],
	['t_wait_cpu_s', 'queue', 'ready, no processor'],
	['t_ext_s', 'outside', 'blocked outside'],
	['t_wait_s', 'wait', 'waiting for another thread'],
];

function programSeries(key) {
	const line = data.series.lines.find((each) => each.level === 'program' && each.metric === key);
	return line ? line.values : null;
}

/* Mean number of threads of each kind in each interval; null if the run was too short. */
function threadsOverTime() {
	const until = data.series.until_s;
	const lines = KINDS_OVER_TIME.map(([key]) => programSeries(key));
	if (until.length < 4 || !lines[0]) return null;
	return until.map((end, i) => {
		const from = i ? until[i - 1] : 0;
		return { from, to: end, values: lines.map((line) => Math.max(0, line && end > from ? (line[i] ?? 0) / (end - from) : 0)) };
	});
}

/* Ticks of time from 0 to @end along the lower edge. */
function timeAxis(context, x, end, height) {
	const step = roundStep(end, 7);
	context.fillStyle = color('dim');
	for (let at = 0; at <= end * 1.0001; at += step) {
		const text = seconds(at), wide = context.measureText(text).width;
		context.fillText(text, Math.min(x(at), x(end) - wide), height - 5);
	}
}

function overTime() {
	const bins = threadsOverTime(), program = report.program;
	const phases = report.phases ? report.phases.phases : [];
	if (!bins && !phases.length) return null;
	const chart = bins && canvas(170, { 'aria-label': 'Threads working, ready without a processor, blocked and waiting, over time' },
		(context, width, height) => {
			const left = 70, end = bins[bins.length - 1].to;
			const top = Math.max(program.cores, most(bins, (bin) => bin.values.reduce((a, b) => a + b))) * 1.08;
			const x = (at) => left + (width - left - 6) * at / end, y = (value) => height - 20 - (height - 28) * value / top;
			for (const bin of bins) {
				let sum = 0;
				KINDS_OVER_TIME.forEach(([, name], k) => {
					context.fillStyle = color(name);
					context.fillRect(x(bin.from), y(sum + bin.values[k]), x(bin.to) - x(bin.from) + 0.3,
						y(sum) - y(sum + bin.values[k]));
					sum += bin.values[k];
				});
			}
			context.strokeStyle = color('fg');
			context.setLineDash([4, 3]);
			context.beginPath();
			context.moveTo(left, y(program.cores));
			context.lineTo(width - 6, y(program.cores));
			context.stroke();
			context.setLineDash([]);
			context.fillStyle = color('dim');
			context.fillText('threads', 8, 16);
			context.fillText(`${program.cores} cores`, 8, y(program.cores) + 4);
			timeAxis(context, x, end, height);
			for (const mark of [...phases.map((phase) => [phase.from_s, phase.name]), ...report.marks.map((mark) => [mark.at_s, mark.name])]) {
				context.fillStyle = color('path');
				context.fillRect(x(mark[0]), 6, 1.5, height - 26);
				context.fillText(fitted(context, mark[1], 140), Math.min(x(mark[0]) + 4, width - 140), 16);
			}
		});
	const largest = (phase) => phase.components.slice().sort((a, b) => (b.critical_path_s || 0) - (a.critical_path_s || 0))[0];

	return section('time', 'Over time, and phases',
		`How many threads worked at once, and how many were ready without a processor. The dashed line is the number of cores.${
			report.parts.length ? ' Time that was not profiled is left out.' : ''}`,
		chart, bins ? legend(KINDS_OVER_TIME.map(([, name, text]) => [name, text])) : null,
		phases.length ? longTable([
			{ title: 'from', value: (row) => row.from_s, format: seconds },
			{ title: 'to', value: (row) => row.to_s, format: seconds },
			{ title: 'critical path', value: (row) => row.critical_path_s, format: seconds },
			{ title: 'parallelism', value: (row) => row.p, format: number },
			{ title: 'at most', value: (row) => row.p_max, format: number, help: 'with unlimited processors' },
			{ title: 'phase', value: (row) => row.name, text: true },
			{ title: 'by', value: (row) => row.by, text: true },
			{ title: 'most on the path', value: (row) => { const c = largest(row); return c ? `${c.kind} ${c.name}` : ''; }, text: true },
		], phases, { by: 0, up: true, label: 'Phases' }, 20) : null);
}
