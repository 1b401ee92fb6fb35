//! Commands that may reach only named hosts: real processes, and attempts to reach other hosts.

use std::net::UdpSocket;
use std::os::unix::net::UnixListener;
use std::process::Output;

use pi_guard::confine::{
    Confined, ConfinementLevel, DenialTarget, Machine, Network, Proxy, explain_denial,
};
use tempfile::TempDir;

use crate::env::{TESTBED, TestEnv, not_tested, text, with_bubblewrap};
use crate::proxy::{Server, proxy};

/// An environment with a proxy and a server that commands may reach.
struct ProxyEnv {
    env: TestEnv,
    _directory: TempDir,
    proxy: Proxy,
    allowed: Server,
    confined: Confined,
    machine: Machine,
    variables: Vec<(&'static str, String)>,
    _sockets: (UdpSocket, UnixListener),
}

/// A shell function that sends its argument to the proxy and prints the response.
const ASK: &str = "ask() { exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf \"$1\" >&3 && cat <&3; exec 3>&-; }; ";

impl ProxyEnv {
    /// None without bubblewrap, which is reported.
    fn new() -> Option<Self> {
        let machine = with_bubblewrap()?;
        let env = TestEnv::new();
        let (directory, proxy) = proxy(&["localhost"]);
        let allowed = Server::start();
        let mut confinement = env.confinement();
        confinement.network = Network::Hosts(vec!["localhost".to_owned()]);
        confinement.proxy = Some(proxy.socket().to_owned());
        let confined =
            confinement.prepare(&machine, ConfinementLevel::Bubblewrap, TESTBED).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = env.path("outside/socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let variables = vec![
            ("PORT", allowed.port.to_string()),
            ("UDP", udp.local_addr().unwrap().port().to_string()),
            ("SOCKET", socket.display().to_string()),
            ("PROXY_SOCKET", proxy.socket().display().to_string()),
            ("NO_PROXY", "*".to_owned()),
            ("no_proxy", "localhost".to_owned()),
            ("https_proxy", "http://elsewhere.test".to_owned()),
        ];
        let sockets = (udp, listener);
        Some(Self {
            env,
            _directory: directory,
            proxy,
            allowed,
            confined,
            machine,
            variables,
            _sockets: sockets,
        })
    }

    fn run(&self, script: &str) -> Output {
        let script = format!("{ASK}{script}");
        self.env.run_with(Some(&self.confined), "ws", &script, &self.variables)
    }

    fn take_refused(&self) -> Vec<(String, u16)> {
        self.proxy.take_refused().into_iter().map(|one| (one.host, one.port)).collect()
    }
}

fn has_curl() -> bool {
    let installed = std::process::Command::new("curl").arg("--version").output().is_ok();
    if !installed {
        not_tested("named hosts with curl, which is not installed");
    }
    installed
}

#[test]
fn an_allowed_host_is_reached() {
    let Some(proxied) = ProxyEnv::new() else { return };
    let mut scripts = vec![
        "ask \"GET http://localhost:$PORT/ HTTP/1.1\\r\\n\\r\\n\" | grep hello",
        "ask \"CONNECT localhost:$PORT HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n\" | grep hello",
    ];
    if has_curl() {
        scripts.extend([
            "curl -sSf http://localhost:$PORT/ | grep hello",
            "curl -sSfp http://localhost:$PORT/ | grep hello",
            "curl -sSfd some=thing http://localhost:$PORT/ | grep hello",
            "for i in $(seq 20); do curl -sSf http://localhost:$PORT/ & done | grep -c hello | grep 20",
            "curl -sSfT /bin/sh http://localhost:$PORT/ | grep hello",
        ]);
    }
    for script in scripts {
        let output = proxied.run(script);
        assert!(output.status.success(), "{script}: {}", text(&output));
    }
    assert!(proxied.take_refused().is_empty());
    assert!(proxied.allowed.received.try_recv().is_ok());
}

#[test]
fn other_hosts_are_refused_and_reported() {
    let Some(proxied) = ProxyEnv::new() else { return };
    let script = "ask \"CONNECT other.test:443 HTTP/1.1\\r\\n\\r\\n\"";
    let output = text(&proxied.run(script));
    assert!(
        output.contains("403 Forbidden") && output.contains("it is not on the list"),
        "{output}"
    );
    assert_eq!(proxied.take_refused(), [("other.test".to_owned(), 443)]);
    if !has_curl() {
        return;
    }
    let cases = [
        ("curl -sS http://other.test/", "other.test", 80),
        ("curl -sS https://other.test/", "other.test", 443),
        ("curl -sSL http://localhost:$PORT/to/other.test:81/", "other.test", 81),
        ("curl -sS http://127.0.0.1:$PORT/", "127.0.0.1", proxied.allowed.port),
        ("curl -sS http://[::1]:$PORT/", "::1", proxied.allowed.port),
        ("curl -sS -H 'Host: localhost' http://other.test/", "other.test", 80),
        ("curl -sS --connect-to ::other.test:80 -p http://localhost/", "other.test", 80),
        ("curl -sS http://169.254.169.254/latest/", "169.254.169.254", 80),
    ];
    for (script, host, port) in cases {
        let output = text(&proxied.run(script));
        assert!(
            output.contains("403") || output.contains("is denied by the sandbox: "),
            "{script}: {output}"
        );
        assert_eq!(proxied.take_refused(), [(host.to_owned(), port)], "{script}: {output}");
        let denial = explain_denial(&proxied.confined, &proxied.env.path("ws"), &output).unwrap();
        let (named, rule) = match output.contains("is denied by the sandbox: ") {
            true => (Some(host.to_owned()), "it is not on the list"),
            false => (None, "only allowed hosts can be reached"),
        };
        assert_eq!(
            (denial.target, denial.rule.as_str()),
            (DenialTarget::Host(named), rule),
            "{output}"
        );
    }
}

#[test]
fn the_proxy_is_the_only_way_out() {
    let Some(proxied) = ProxyEnv::new() else { return };
    let attempts = [
        "$A tcp $PORT",
        "$A udp $UDP",
        "$A tcp6 $PORT",
        "$A dns",
        "getent hosts example.com",
        "getent -s dns hosts localhost.example.com",
        "$A socket 40 1 0",
        "$A socket 16 3 4",
        "$A socket 17 3 0",
        "$A unix $SOCKET",
        "$A unix $PROXY_SOCKET",
        "test -e $PROXY_SOCKET",
        "$A unix /dev/pi-proxy",
        "rm -f /dev/pi-proxy",
        "mv /dev/pi-proxy /dev/other",
        "echo x > /dev/pi-proxy",
        "ln /dev/pi-proxy $WS/src/s",
        "env | grep -i ^no_proxy",
        "env | grep elsewhere",
        "curl -sS --noproxy '*' http://localhost:$PORT/",
        "$A setns /proc/1/ns/net",
    ];
    for script in attempts {
        let output = proxied.run(script);
        assert!(!output.status.success(), "{script}: {}", text(&output));
    }
    let seen = proxied.run("cat /proc/net/dev | tail -n +3 | grep -v ' lo:'");
    assert!(!seen.status.success(), "{}", text(&seen));
}

/// Sets `B` to the process of the bridge, whose arguments are not visible while it starts.
const FIND: &str = "for try in $(seq 100); do \
     B=$(grep -al -e '--bridge-[s]erve' /proc/[0-9]*/cmdline | cut -d/ -f3); \
     test -n \"$B\" && break; sleep 0.05; done; test -n \"$B\" || exit 99; ";

#[test]
fn commands_cannot_control_the_bridge() {
    let Some(proxied) = ProxyEnv::new() else { return };
    let holds = [
        "test \"$(grep PPid /proc/$B/status)\" = \"$(printf 'PPid:\\t1')\"",
        "grep -q 'NoNewPrivs:.1' /proc/$B/status",
        "grep -q 'CapEff:.0000000000000000' /proc/$B/status",
        "grep -q 'Seccomp:.2' /proc/$B/status",
        "kill 0; true",
        "! pgrep -P $$ -f bridge",
    ];
    for script in holds {
        let output = proxied.run(&format!("trap '' TERM; {FIND}{script}"));
        assert!(output.status.success(), "{script}: {}", text(&output));
    }
    let mut attempts = vec![
        "ls /proc/$B/fd/0",
        "cat /proc/$B/fd/0",
        "$A open-read /proc/$B/mem",
        "$A open-write /proc/$B/mem",
        "cat /proc/$B/environ",
        "cat /proc/$B/maps | grep .",
        "ls /proc/$B/root/",
        "$A pidfd-getfd $B",
        "$A ptrace-attach $B",
        "$A vm-read $B 0",
        "$A limit $B",
        "$A setns /proc/$B/ns/net",
        "wait $B",
    ];
    if proxied.machine.landlock >= 6 {
        attempts.extend(["kill -9 $B", "kill -STOP $B", "$A pidfd-signal $B", "$A tgkill $B"]);
    }
    for script in attempts {
        let output = proxied.run(&format!("{FIND}{script}"));
        assert!(!output.status.success(), "{script}: {}", text(&output));
        assert_ne!(output.status.code(), Some(99), "{script}: there is no bridge");
    }
    // The port of the bridge is taken.
    let listen = "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", int(\"'${HTTP_PROXY##*:}'\"))); s.listen()'";
    let output = proxied.run(listen);
    assert!(!output.status.success(), "{}", text(&output));
    let still = format!(
        "{FIND}kill -9 -1 2>/dev/null; ask \"GET http://localhost:$PORT/ HTTP/1.1\\r\\n\\r\\n\" | grep hello"
    );
    let output = proxied.run(&still);
    assert!(output.status.success() || proxied.machine.landlock < 6, "{}", text(&output));
}

#[test]
fn without_the_proxy_no_command_runs() {
    let Some(proxied) = ProxyEnv::new() else { return };
    let ProxyEnv { env, proxy, confined, variables, .. } = proxied;
    drop(proxy);
    let output = env.run_with(Some(&confined), "ws", "echo ran", &variables);
    assert!(!output.status.success() && !text(&output).contains("ran\n"), "{}", text(&output));
}
