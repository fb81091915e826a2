/* answer.js - what decided how long the run took, in one sentence and one picture */

/* What the observed path consists of: color, name, seconds of the program's figures. */
const KINDS_OF_TIME = [
	['work', 'work', (program) => program.observed_segments.process_s],
	['outside', 'service (I/O, sleep)', (program) => program.observed_external.service_s],
	['idle', 'idle', (program) => program.observed_external.idle_s],
	['unknown', 'wait not known for whom', (program) => program.observed_external.unknown_wait_s],
	['queue', 'ready, no processor', (program) => program.observed_segments.runqueue_s],
	['other', 'hand-off', (program) => program.observed_segments.handoff_s],
	['plain', 'cpa itself', (program) => program.observed_segments.probe_s],
];

/* CPU time of all activities: without waiting, and without cpa's own. */
function workSeconds() {
	return report.program.parallelism * report.program.wall_s;
}

/* Bars of the two paths and of all work, on one scale: wall time. */
function scales() {
	const program = report.program;
	const evenly = workSeconds() / program.cores;
	const whole = Math.max(program.wall_s, program.critical_path_s, evenly, 1e-12);
	const piece = (value, name) =>
		el('i', { style: { width: 100 * value / whole + '%', background: `var(--${name})` } });
	const bar = (text, ...pieces) => el('div', { cls: 'bar', role: 'img', 'aria-label': text }, pieces);
	const words = KINDS_OF_TIME.map(([, text, value]) => `${text} ${percent(share(value(program), program.wall_s) ?? 0)}`);

	return [
		el('div', { cls: 'scales' },
			el('span', {}, 'observed path'),
			bar(`observed path: ${words.join(', ')}`, KINDS_OF_TIME.map(([name, , value]) => piece(value(program), name))),
			el('span', {}, `${seconds(program.wall_s)} wall`),
			el('span', {}, 'critical path'),
			bar(`critical path ${seconds(program.critical_path_s)}`, piece(program.critical_path_s, 'path')),
			el('span', {}, `${seconds(program.critical_path_s)} with unlimited processors`),
			el('span', {}, `all work on ${program.cores} cores`),
			bar(`all work evenly on ${program.cores} cores ${seconds(evenly)}`,
				piece(evenly, 'plain')),
			el('span', {}, `${seconds(evenly)} at best, evenly spread`)),
		legend(KINDS_OF_TIME.map(([name], i) => [name, words[i]])),
	];
}

/* " ± 0.12"; nothing if that is not known. */
function marginText(margin, format = (value) => Number(value.toPrecision(2))) {
	return margin === undefined ? '' : ` ± ${format(margin)}`;
}

/* What the windows of a budget tell, and what they do not. */
function sample() {
	const windows = report.windows;
	return windows ? [windows.sentence, windows.rivals].filter(Boolean).map((text) => el('p', { cls: 'about' }, text.replaceAll('+-', '±'))) : [];
}

function tiles() {
	const program = report.program, windows = report.windows || {};
	const probes = share(report.diagnostics.probe_s, program.cpu_s);
	const threads = report.threads.reduce((sum, row) => sum + 1 + row.earlier_threads, 0);
	return el('div', { cls: 'tiles' }, [
		[seconds(program.wall_s), 'wall time'],
		[seconds(program.critical_path_s) + marginText(windows.critical_path_margin_s, seconds), 'critical path'],
		[seconds(program.cpu_s) + marginText(windows.cpu_margin_s, seconds), `CPU time, ${threads} threads`],
		[number(program.parallelism) + marginText(windows.parallelism_margin), `parallelism, of ${program.cores} cores`],
		[number(program.max_parallelism) + marginText(windows.max_parallelism_margin), 'with unlimited processors'],
		[percent(probes), 'of the CPU time is cpa’s own'],
	].map(([figure, text]) => el('div', { cls: 'tile' }, el('b', {}, figure), el('span', {}, text))));
}

/* The report's verdict and how to look closer; what else follows from the figures. */
function answer() {
	const verdict = report.verdict;
	return section('answer', 'What decided how long the run took', null,
		verdict.doubt ? el('p', { cls: 'note' }, verdict.doubt) : null,
		el('p', { cls: 'lead' }, verdict.sentence),
		el('p', {}, verdict.action),
		verdict.beside ? el('p', {}, verdict.beside) : null,
		el('p', {}, 'Look closer: ', el('code', {}, verdict.command)),
		scales(), tiles(), sample(),
		report.guidance.length ? el('div', {}, el('h3', {}, 'Also'),
			el('ul', {}, report.guidance.map((text) => el('li', {}, text)))) : null,
		report.warnings.map((text) => el('div', { cls: 'note' }, text)));
}
