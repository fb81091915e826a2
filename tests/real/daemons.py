# SPDX-License-Identifier: MIT
"""tests/real/daemons.py - servers, each with a client that checks answers

{port} is a free port of the loopback, {work} the server's folder. A client's output is the same
natively and under cpa.
"""

from batch import p

# Ask for pages and compare each with what is in the file; from four connections.
HTTP = """import concurrent.futures, sys, urllib.request
want = open("www/page.txt", "rb").read()
def get(i):
    url = "http://127.0.0.1:" + sys.argv[1] + "/page.txt?" + str(i % 20)
    with urllib.request.urlopen(url) as answer:
        return answer.status == 200 and answer.read() == want
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(get, range(400))), "right answers")
"""
WEB = {"www/page.txt": "".join(f"line {i}\n" for i in range(4000)), "client.py": HTTP}
CLIENT = "/usr/bin/python3 client.py {port}"
# A web server behind a proxy or cache is not under cpa.
BEHIND = (
    "/usr/bin/python3 -m http.server --bind 127.0.0.1 -d www {next_port} >/dev/null 2>&1 & "
    "trap 'kill $!' EXIT; until curl -s -o /dev/null http://127.0.0.1:{next_port}/; do "
    "kill -0 $! || exit 1; sleep 0.1; done; "
    + CLIENT
)
# The proxy is asked for what the server behind it has.
PROXY = BEHIND.replace(CLIENT, "http_proxy=127.0.0.1:{port} /usr/bin/python3 client.py {next_port}")
MEMCACHED = """import socket, threading
def client(name):
    with socket.create_connection(("127.0.0.1", {port})) as s, s.makefile("rb") as lines:
        for i in range(500):
            s.sendall(b"set %s%d 0 0 4\\r\\n%04d\\r\\nget %s%d\\r\\n" % (name, i, i, name, i))
            answer = [lines.readline() for _ in range(4)]
            assert answer[2] == b"%04d\\r\\n" % i, answer
threads = [threading.Thread(target=client, args=(n,)) for n in (b"a", b"b", b"c")]
[t.start() for t in threads]; [t.join() for t in threads]
print("done")
"""
DNS = """import socket, struct, threading
def ask(i):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20)
    name = b"".join(bytes([len(x)]) + x for x in (b"h%d" % (i % 9), b"test")) + b"\\0"
    for k in range(100):
        head = struct.pack(">6H", k, 256, 1, 0, 0, 0)
        s.sendto(head + name + b"\\0\\1\\0\\1", ("127.0.0.1", {port}))
        answer = s.recv(512)
        right = struct.pack(">H", k), bytes([10, 0, 0, i % 9])
        assert (answer[:2], answer[-4:]) == right, answer
threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print("done")
"""
RECORDS = "".join(f'  local-data: "h{i}.test. A 10.0.0.{i}"\n' for i in range(9))
UNBOUND = f"""server:
  interface: 127.0.0.1@{{port}}
  num-threads: 3
  chroot: ""
  username: ""
  directory: "{{work}}"
  pidfile: ""
  use-syslog: no
  do-daemonize: no
  local-zone: "test." static
{RECORDS}remote-control:
  control-enable: no
"""
ZONE = "$ORIGIN test.\n$TTL 60\n@ SOA a b 1 60 60 60 60\n@ NS a.\n" + "".join(
    f"h{i} A 10.0.0.{i}\n" for i in range(9)
)
KNOT = """server:
    rundir: "{work}"
    listen: 127.0.0.1@{port}
    udp-workers: 3
database:
    storage: "{work}"
zone:
  - domain: test
    storage: "{work}"
    file: zone
    zonefile-sync: -1
    journal-content: none
"""
NAMED = """options { directory "{work}"; listen-on port {port} { 127.0.0.1; };
listen-on-v6 { none; }; pid-file none; session-keyfile none; recursion no;
minimal-responses yes; };
controls { };
zone "test" { type primary; file "{work}/zone"; };
"""
NGINX = """daemon off; pid {work}/pid; error_log stderr; worker_processes 2;
thread_pool default threads=4; events { worker_connections 64; }
http { access_log off; sendfile off; aio threads; output_buffers 1 64k;
client_body_temp_path {work}/t1; proxy_temp_path {work}/t2; fastcgi_temp_path {work}/t3;
uwsgi_temp_path {work}/t4; scgi_temp_path {work}/t5;
server { listen 127.0.0.1:{port}; root {work}/www; } }
"""
APACHE = """ServerRoot {work}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile pid
ErrorLog error
DefaultRuntimeDir {work}
Mutex default:{work}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
StartServers 2
ThreadsPerChild 8
DocumentRoot {work}/www
"""
HAPROXY = """global
  nbthread 3
  tune.bufsize 131072
defaults
  mode http
  timeout connect 9s
  timeout client 9s
  timeout server 9s
frontend f
  bind 127.0.0.1:{port}
  http-request return status 200 content-type text/plain file {work}/www/page.txt if TRUE
"""
SQUID = """http_port 127.0.0.1:{port}
pid_filename none
http_access allow all
cache_log {work}/cache.log
access_log none
cache_dir aufs {work}/cache 10 4 4
pinger_enable off
coredump_dir {work}
shutdown_lifetime 1 seconds
netdb_filename none
"""
LIGHTTPD = """server.document-root = "{work}/www"
server.bind = "127.0.0.1"
server.port = {port}
"""
RSYSLOG = """global(workDirectory="{work}")
module(load="imtcp")
input(type="imtcp" port="{port}" address="127.0.0.1")
main_queue(queue.workerthreads="3" queue.workerthreadminimummessages="10")
template(name="t" type="string" string="%msg%\\n")
action(type="omfile" file="{work}/log" template="t" queue.type="LinkedList")
"""
LOGS = """import pathlib, socket, time
with socket.create_connection(("127.0.0.1", {port})) as s:
    for i in range(2000): s.sendall(b"<13>Jan  1 00:00:00 h t: m%d\\n" % i)
log, want = pathlib.Path("log"), sorted(f"m{i}" for i in range(2000))
end = time.monotonic() + 100
while time.monotonic() < end and not (log.exists() and sorted(log.read_text().split()) == want):
    time.sleep(0.05)
print(sorted(log.read_text().split()) == want)
"""
FPM = """[global]
error_log = {work}/error
daemonize = no
[www]
listen = 127.0.0.1:{port}
pm = static
pm.max_children = 3
"""
SCRIPT = "<?php echo 'sum ', array_sum(range(0, $_GET['i'] * 100)), ' end';"
FCGI = """import concurrent.futures, socket, struct
def record(kind, data): return struct.pack(">BBHHBB", 1, kind, 1, len(data), 0, 0) + data
def get(i):
    words = {b"SCRIPT_FILENAME": b"{work}/a.php", b"REQUEST_METHOD": b"GET",
             b"QUERY_STRING": b"i=%d" % i}
    body = b"".join(bytes([len(k), len(v)]) + k + v for k, v in words.items())
    with socket.create_connection(("127.0.0.1", {port})) as s:
        s.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, body) + record(4, b"")
                  + record(5, b""))
        answer = b"".join(iter(lambda: s.recv(65536), b""))
    return b"sum %d end" % sum(range(i * 100 + 1)) in answer
with concurrent.futures.ThreadPoolExecutor(4) as pool: print(sum(pool.map(get, range(200))))
"""
POSTGRES = """listen_addresses = ''
unix_socket_directories = '{work}'
max_parallel_workers_per_gather = 2
parallel_setup_cost = 0
min_parallel_table_scan_size = 0
fsync = off
"""
PG = "$(ls -d /usr/lib/postgresql/*/bin | tail -1)"
SUMS = (
    "select count(*), sum(delta) = (select sum(abalance) from pgbench_accounts), "
    "sum(delta) = (select sum(bbalance) from pgbench_branches) from pgbench_history"
)
SCAN = "select count(*), sum(aid) from pgbench_accounts where aid % 7 = 1"
# Who reads has subscribed before there are messages: the server keeps them for that name.
MQTT = """reader='mosquitto_sub -p {port} -i reader -c -q 1 -t a'; $reader -E
seq 50 | mosquitto_pub -p {port} -q 1 -t a -l; $reader -C 50 >got; cksum got; rm got"""

SERVERS = [
    p("server", "PostgreSQL", "postgresql", "sh -c 'exec %s/postgres -D data'" % PG,
      texts={"settings": POSTGRES},
      setup=f"{PG}/initdb -D data -A trust -U test -N >/dev/null; "
      f"cat settings >>data/postgresql.conf; {PG}/pg_ctl -s -w -D data -l log start; "
      f"export PGHOST={{work}} PGUSER=test; "
      f"{PG}/pgbench -i -q postgres >/dev/null 2>&1; {PG}/pg_ctl -s -w -D data stop; rm log",
      ready="{work}/.s.PGSQL.5432", stop="SIGINT", stderr=False, ignore=("data/*",),
      client=f"export PGHOST={{work}} PGUSER=test; {PG}/pgbench -n -c 4 -j 2 -t 30 postgres "
      f"| grep actually; {PG}/psql -Atc '{SUMS}' postgres; "
      f"{PG}/psql -Atc '{SCAN}' postgres"),
    p("server", "MariaDB", "mariadb-server mariadb-client",
      "mariadbd --no-defaults --datadir={work}/data --socket={work}/socket --skip-networking "
      "--pid-file={work}/pid --innodb-buffer-pool-size=16M",
      setup="mariadb-install-db --no-defaults --datadir={work}/data --skip-test-db "
      "--auth-root-authentication-method=normal >/dev/null", ready="{work}/socket",
      stderr=False, ignore=("data/*",),
      client="mariadb-slap --no-defaults -uroot -S {work}/socket -a "
      "--auto-generate-sql-execute-number=200 -c 4 >/dev/null && "
      "mariadb --no-defaults -uroot -S {work}/socket -Ne 'create database a; "
      "create table a.t as select seq from mysql.help_topic, (select 1 seq union select 2) s; "
      "select sum(seq) from a.t'"),
    p("server", "redis", "redis-server redis-tools",
      "redis-server --port 0 --unixsocket {work}/socket --save '' --io-threads 3 "
      "--io-threads-do-reads yes --daemonize no --loglevel warning", ready="{work}/socket",
      stderr=False, blur="(?s).*WARNING.*",
      client="redis-benchmark -s {work}/socket -q -n 3000 -c 20 -P 4 -t lpush,incr >/dev/null; "
      "redis-cli -s {work}/socket llen mylist; "
      "redis-cli -s {work}/socket get counter:__rand_int__"),
    p("server", "memcached", "memcached", "memcached -t 4 -l 127.0.0.1 -p {port}",
      texts={"client.py": MEMCACHED}, ready="{port}", client=CLIENT, quick=True),
    p("server", "nginx", "nginx-light", "nginx -e stderr -c {work}/nginx.conf",
      texts={**WEB, "nginx.conf": NGINX}, ready="{port}", client=CLIENT, stderr=False),
    p("server", "apache2, threads", "apache2", "apache2 -f {work}/apache.conf -DFOREGROUND",
      texts={**WEB, "apache.conf": APACHE}, ready="{port}", client=CLIENT, stderr=False,
      ignore=("error",)),
    p("server", "haproxy", "haproxy", "haproxy -db -f {work}/haproxy.cfg",
      texts={**WEB, "haproxy.cfg": HAPROXY}, ready="{port}", client=CLIENT, status=-15,
      stderr=False),
    p("server", "varnish", "varnish curl", "varnishd -F -n {work}/v -a 127.0.0.1:{port} "
      "-b 127.0.0.1:{next_port} -j none -p thread_pool_min=10", texts=WEB, ready="{port}",
      client=BEHIND, stderr=False, ignore=("v/*",), blur="(?s).*"),
    p("server", "squid, aufs", "squid curl", "squid -N -f {work}/squid.conf",
      texts={**WEB, "squid.conf": SQUID}, setup="squid -N -z -f {work}/squid.conf 2>/dev/null",
      ready="{port}", client=PROXY, stderr=False, ignore=("cache/*", "cache.log")),
    p("server", "unbound", "unbound", "unbound -d -c {work}/unbound.conf",
      texts={"unbound.conf": UNBOUND, "client.py": DNS}, ready="{port}", client=CLIENT,
      stderr=False),
    p("server", "knot", "knot", "knotd -c {work}/knot.conf",
      texts={"knot.conf": KNOT, "zone": ZONE, "client.py": DNS}, ready="{port}", client=CLIENT,
      stderr=False, blur=r"(?s).*", ignore=("timers/*", "catalog/*")),
    p("server", "bind9", "bind9", "named -f -n 3 -c {work}/named.conf",
      texts={"named.conf": NAMED, "zone": ZONE, "client.py": DNS}, ready="{port}", client=CLIENT,
      stderr=False, ignore=("managed*",)),
    p("server", "rsyslog", "rsyslog", "rsyslogd -n -i NONE -f {work}/rsyslog.conf",
      texts={"rsyslog.conf": RSYSLOG, "client.py": LOGS}, ready="{port}",
      client="/usr/bin/python3 client.py", stderr=False, ignore=("log",)),
    p("server", "php-fpm", "php8.2-fpm", "php-fpm8.2 -n -F -y {work}/fpm.conf",
      texts={"fpm.conf": FPM, "client.py": FCGI, "a.php": SCRIPT}, ready="{port}",
      client="/usr/bin/python3 client.py", stderr=False, ignore=("error",), stop="SIGQUIT"),
    p("server", "lighttpd", "lighttpd", "lighttpd -D -f {work}/lighttpd.conf",
      texts={**WEB, "lighttpd.conf": LIGHTTPD}, ready="{port}", client=CLIENT, stderr=False),
    p("server", "mosquitto", "mosquitto mosquitto-clients", "mosquitto -p {port}",
      ready="{port}", client=MQTT, stderr=False),
]
