/* itself.js - what the profiler cost, and what it could not see */

function itself() {
	const diagnostics = report.diagnostics, program = report.program;
	const facts = [
		['time in cpa’s own code, all threads', seconds(diagnostics.probe_s)],
		['of it, signals for samples', seconds(diagnostics.samples_s)],
		['share of the CPU time', percent(share(diagnostics.probe_s, program.cpu_s))],
		['clock', diagnostics.clock],
		['samples', number(diagnostics.samples)],
		['samples lost', number(diagnostics.samples_lost)],
		['uses of locks counted but not timed', number(diagnostics.untimed)],
		['objects not tracked', number(diagnostics.objects_untracked)],
		['version', data.version],
	];
	return section('itself', 'The profiler itself', 'What cpa cost, and what it lost or could not see.',
		el('div', { cls: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'The profiler' }, el('table', {}, el('tbody', {},
			facts.map(([text, figure]) => el('tr', {}, el('th', { scope: 'row', cls: 'text' }, text), el('td', { cls: 'text' }, figure)))))),
		diagnostics.notes.map((text) => el('div', { cls: 'note' }, text)));
}
