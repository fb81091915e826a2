/* views.js - the page: all views in the order of the questions that they answer */

const VIEWS = [
	['Answer', answer],
	['Components', components],
	['Timeline', timeline],
	['What if', whatif],
	['Flame graph', flame],
	['Callers', callers],
	['Locks', locks],
	['Queues', queues],
	['Streams', streams],
	['Regions', regions],
	['Over time', overTime],
	['Hierarchy', hierarchy],
	['Histograms', histograms],
	['Profiler', itself],
];

/* The page of cpa diff has this one. */
const VIEWS_OF_COMPARISON = [['Compare', compare]];

const root = document.documentElement;

function setTheme(name) {
	root.dataset.theme = name;
	document.getElementById('theme').textContent = name === 'dark' ? 'light' : 'dark';
	redrawAll();
}

function start() {
	const made = (report ? VIEWS : VIEWS_OF_COMPARISON).map(([name, make]) => [name, make()]).filter(([, view]) => view);
	const name = report ? report.program.name : 'comparison';
	document.title = `cpa: ${name}`;
	document.getElementById('program').textContent = name;
	document.getElementById('about').textContent = report ?
		`${seconds(report.program.wall_s)} wall${report.program.complete ? '' : ', not run to its end'}` :
		runsText(data.comparison);
	document.getElementById('sections').replaceChildren(...made.map(([name, view]) => el('a', { href: '#' + view.id }, name)));
	document.getElementById('main').replaceChildren(...made.map(([, view]) => view));

	/* "#theme=dark&at=locks", so that a picture can be taken again. */
	const wanted = new URLSearchParams(location.hash.slice(1));
	document.getElementById('theme').addEventListener('click', () => setTheme(root.dataset.theme === 'dark' ? 'light' : 'dark'));
	setTheme(wanted.get('theme') || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
	addEventListener('resize', redrawAll);
	addEventListener('beforeprint', redrawAll);
	addEventListener('afterprint', redrawAll);
	const at = document.getElementById(wanted.get('at'));
	if (at) at.scrollIntoView();
	root.dataset.ready = '1';
}

start();
