# fish completion for cpa, cpa-report, cpa-diff, cpa-top, cpa-ctl

function __cpa_option
	set -l programs $argv[1]
	set -e argv[1]
	complete -c cpa -n "__fish_seen_subcommand_from $programs" $argv
	for program in (string split ' ' $programs)
		test $program = run; or complete -c cpa-$program $argv
	end
end

function __cpa_dumps
	__fish_complete_suffix .dump
end

complete -c cpa -n __fish_use_subcommand -f -a run -d 'run a program and write its profile'
complete -c cpa -n __fish_use_subcommand -f -a report -d 'show a profile'
complete -c cpa -n __fish_use_subcommand -f -a view -d 'show a profile in the browser'
complete -c cpa -n __fish_use_subcommand -f -a diff -d 'compare runs'
complete -c cpa -n __fish_use_subcommand -f -a top -d 'watch a running program'
complete -c cpa -n __fish_use_subcommand -f -a ctl -d 'switch profiling, keep a budget, mark, copy'
complete -c cpa -n __fish_use_subcommand -f -a ls -d 'list profiles'
complete -c cpa -n __fish_use_subcommand -f -a rm -d 'remove profiles'
complete -c cpa -n __fish_use_subcommand -f -a help -d 'print the commands'
complete -c cpa -n __fish_use_subcommand -s V -l version -d 'print the version'
complete -c cpa -n __fish_use_subcommand -s h -l help -d 'print the commands'

__cpa_option run -s o -l output -r -d 'write the profile to FILE'
__cpa_option run -s f -l force -d 'replace FILE if it exists'
__cpa_option run -s q -l quiet -d 'print neither verdict nor the place of the profile'
__cpa_option run -l delay -x -d 'start profiling after TIME'
__cpa_option run -l duration -x -d 'profile for TIME'
__cpa_option run -l budget -x -d 'profile in windows that take SHARE of the CPU time'
__cpa_option run -l every -x -d 'copy the profile each TIME'
__cpa_option run -l keep -x -d 'keep copies so long, and so much of them'
__cpa_option run -l journal -d 'also record each event'
__cpa_option run -l repeat -x -d 'run so many times'

__cpa_option 'report view' -l level -x -d 'one table' -a 'all verdict program component context region process thread object queue stream interval pag'
__cpa_option report -l at -x -d 'the time between two copies'
__cpa_option report -l since -r -d 'the time from a copy on'
__cpa_option report -l format -x -d output -a 'text json csv html pprof folded speedscope perfetto prometheus sqlite'
__cpa_option report -l html -r -d 'write a page for a browser'
__cpa_option report -l view -d 'open a page in the browser'
__cpa_option report -l no-pager -d 'no pager'
__cpa_option report -l metrics -x -d metrics -a 'all program machine process thread procedure event'
__cpa_option report -l histogram -x -d 'one metric over time'
__cpa_option report -l callers -x -d 'who called this function'
__cpa_option report -l tree -d 'the critical path by who called whom'
__cpa_option report -l lines -d 'callers by the lines of their calls'
__cpa_option report -l annotate -x -d 'source of this function with shares of lines'
__cpa_option report -l by -x -d 'functions divided by their callers' -a 'caller:1 caller:2'
__cpa_option report -l weight -x -d 'time of folded stacks' -a 'path cpu wall wait'
__cpa_option report -l phases -d 'phases of the run'
__cpa_option report -l phase -x -d 'add this range: NAME=FROM..TO'
__cpa_option report -l phase-threshold -x -d 'how large a change begins a phase'
__cpa_option report -l zero -x -d 'critical path without components'
__cpa_option report -l paths -d 'second and third critical path'
__cpa_option report -l verify -d 'compute the paths again'
__cpa_option report -l cores -x -d 'predict for this many cores'
__cpa_option report -l group -x -d 'threads on these cores only'
__cpa_option report -l load -x -d 'predict beside other busy processes'
__cpa_option report -l network -x -d 'predict other messages: latency=10us bandwidth=1G'
__cpa_option report -l what-if -x -d 'predict a change: KIND:NAME=FACTOR'
__cpa_option report -l idle -x -d 'idle time weighs in the critical path' -a weigh
__cpa_option report -l curves -d 'predict for smaller components'
__cpa_option report -l threads -x -d 'predict other numbers of OpenMP threads: 1,2,4'

__cpa_option diff -l at -x -d 'base, then new: two times of one run'
__cpa_option diff -l span -x -d 'from these times on: 10m, 1h'
__cpa_option diff -l fail-if -x -d 'exit with 3 beyond this limit'
__cpa_option diff -l html -r -d 'write the comparison as a page'
__cpa_option diff -l strict -d 'an unclear limit fails, too'
__cpa_option diff -l least -x -d 'smaller changes are none'
__cpa_option diff -l format -x -d output -a 'text json html'

__cpa_option 'report diff' -l top -x -d 'rows of each table'
__cpa_option 'report diff' -l color -x -d colors -a 'auto always never'
__cpa_option 'report diff' -l width -x -d 'columns of a line'
__cpa_option rm -l older -x -d 'older than TIME (12h, 7d)'
__cpa_option 'report diff top ctl' -l help -d 'print the options'
__cpa_option 'report diff top ctl' -l version -d 'print the version'
__cpa_option 'report view top' -k -a '(__cpa_dumps)'
complete -c cpa -n '__fish_seen_subcommand_from ctl; and test (count (commandline -opc)) -eq 3' -f -a 'start stop budget mark snapshot'
complete -c cpa-ctl -n 'test (count (commandline -opc)) -eq 2' -f -a 'start stop budget mark snapshot'

functions -e __cpa_option
