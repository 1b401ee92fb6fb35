//! Commands that may reach only named hosts: real processes, and attempts to reach others.

use std::net::UdpSocket;
use std::os::unix::net::UnixListener;
use std::process::Output;

use pi_guard::confine::{
    Confined, ConfinementLevel, DenialTarget, Machine, Network, Proxy, explain_denial,
};
use tempfile::TempDir;

use crate::bed::{Bed, TESTBED, levels, text};
use crate::proxy::{Server, proxy};

/// A bed with a proxy, a server that is allowed and one that is not.
struct Way {
    bed: Bed,
    _folder: TempDir,
    proxy: Proxy,
    allowed: Server,
    confined: Confined,
    machine: Machine,
    places: Vec<(&'static str, String)>,
}

/// A client in the shell's own words: sends its argument to the proxy, shows the answer.
const ASK: &str = "ask() { exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf \"$1\" >&3 && cat <&3; exec 3>&-; }; ";

impl Way {
    /// None where bubblewrap is not to be had, which `levels` says.
    fn open() -> Option<Self> {
        let (_, machine) =
            levels().into_iter().find(|(level, _)| *level == ConfinementLevel::Bubblewrap)?;
        let bed = Bed::new();
        let (folder, proxy) = proxy(&["localhost"]);
        let allowed = Server::start();
        let mut confinement = bed.confinement();
        confinement.network = Network::Hosts(vec!["localhost".to_owned()]);
        confinement.proxy = Some(proxy.socket().to_owned());
        let confined =
            confinement.prepare(&machine, ConfinementLevel::Bubblewrap, TESTBED).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = bed.path("outside/socket");
        std::mem::forget(UnixListener::bind(&socket).unwrap());
        let places = vec![
            ("PORT", allowed.port.to_string()),
            ("UDP", udp.local_addr().unwrap().port().to_string()),
            ("SOCKET", socket.display().to_string()),
            ("PROXY_SOCKET", proxy.socket().display().to_string()),
            ("NO_PROXY", "*".to_owned()),
            ("no_proxy", "localhost".to_owned()),
            ("https_proxy", "http://elsewhere.test".to_owned()),
        ];
        std::mem::forget(udp);
        Some(Self { bed, _folder: folder, proxy, allowed, confined, machine, places })
    }

    fn run(&self, script: &str) -> Output {
        let script = format!("{ASK}{script}");
        self.bed.run(Some(&self.confined), "ws", &script, None, &self.places)
    }

    fn take_refused(&self) -> Vec<(String, u16)> {
        self.proxy.take_refused().into_iter().map(|one| (one.host, one.port)).collect()
    }
}

fn curl_is_here() -> bool {
    let here = std::process::Command::new("curl").arg("--version").output().is_ok();
    if !here {
        eprintln!("NOT TESTED with curl, which is not here");
    }
    here
}

#[test]
fn an_allowed_host_is_reached() {
    let Some(way) = Way::open() else { return };
    let mut scripts = vec![
        "ask \"GET http://localhost:$PORT/ HTTP/1.1\\r\\n\\r\\n\" | grep hello",
        "ask \"CONNECT localhost:$PORT HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n\" | grep hello",
    ];
    if curl_is_here() {
        scripts.extend([
            "curl -sSf http://localhost:$PORT/ | grep hello",
            "curl -sSfp http://localhost:$PORT/ | grep hello",
            "curl -sSfd some=thing http://localhost:$PORT/ | grep hello",
            "for i in $(seq 20); do curl -sSf http://localhost:$PORT/ & done | grep -c hello | grep 20",
            "curl -sSfT /bin/sh http://localhost:$PORT/ | grep hello",
        ]);
    }
    for script in scripts {
        let output = way.run(script);
        assert!(output.status.success(), "{script}: {}", text(&output));
    }
    assert!(way.take_refused().is_empty());
    assert!(way.allowed.heard.try_recv().is_ok());
}

#[test]
fn other_hosts_are_refused_and_named() {
    let Some(way) = Way::open() else { return };
    let script = "ask \"CONNECT other.test:443 HTTP/1.1\\r\\n\\r\\n\"";
    let said = text(&way.run(script));
    assert!(said.contains("403 Forbidden") && said.contains("it is not on the list"), "{said}");
    assert_eq!(way.take_refused(), [("other.test".to_owned(), 443)]);
    if !curl_is_here() {
        return;
    }
    let cases = [
        ("curl -sS http://other.test/", "other.test", 80),
        ("curl -sS https://other.test/", "other.test", 443),
        ("curl -sSL http://localhost:$PORT/to/other.test:81/", "other.test", 81),
        ("curl -sS http://127.0.0.1:$PORT/", "127.0.0.1", way.allowed.port),
        ("curl -sS http://[::1]:$PORT/", "::1", way.allowed.port),
        ("curl -sS -H 'Host: localhost' http://other.test/", "other.test", 80),
        ("curl -sS --connect-to ::other.test:80 -p http://localhost/", "other.test", 80),
        ("curl -sS http://169.254.169.254/latest/", "169.254.169.254", 80),
    ];
    for (script, host, port) in cases {
        let said = text(&way.run(script));
        assert!(said.contains("403") || said.contains("cannot be reached"), "{script}: {said}");
        assert_eq!(way.take_refused(), [(host.to_owned(), port)], "{script}: {said}");
        let denial = explain_denial(&way.confined, &way.bed.path("ws"), &said).unwrap();
        let (named, rule) = match said.contains("cannot be reached") {
            true => (Some(host.to_owned()), "it is not on the list"),
            false => (None, "only named hosts can be reached"),
        };
        assert_eq!(
            (denial.target, denial.rule.as_str()),
            (DenialTarget::Host(named), rule),
            "{said}"
        );
    }
}

#[test]
fn there_is_no_other_way_out() {
    let Some(way) = Way::open() else { return };
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
        let output = way.run(script);
        assert!(!output.status.success(), "{script}: {}", text(&output));
    }
    let seen = way.run("cat /proc/net/dev | tail -n +3 | grep -v ' lo:'");
    assert!(!seen.status.success(), "{}", text(&seen));
}

/// Finds the bridge, as a command would.
const FIND: &str = "B=$(grep -al -e '--bridge-[s]erve' /proc/[0-9]*/cmdline | cut -d/ -f3); test -n \"$B\" || exit 99; ";

#[test]
fn the_bridge_is_not_the_commands() {
    let Some(way) = Way::open() else { return };
    let holds = [
        "test \"$(grep PPid /proc/$B/status)\" = \"$(printf 'PPid:\\t1')\"",
        "grep -q 'NoNewPrivs:.1' /proc/$B/status",
        "grep -q 'CapEff:.0000000000000000' /proc/$B/status",
        "grep -q 'Seccomp:.2' /proc/$B/status",
        "kill 0; true",
        "! pgrep -P $$ -f bridge",
    ];
    for script in holds {
        let output = way.run(&format!("trap '' TERM; {FIND}{script}"));
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
    if way.machine.landlock >= 6 {
        attempts.extend(["kill -9 $B", "kill -STOP $B", "$A pidfd-signal $B", "$A tgkill $B"]);
    }
    for script in attempts {
        let output = way.run(&format!("{FIND}{script}"));
        assert!(!output.status.success(), "{script}: {}", text(&output));
        assert_ne!(output.status.code(), Some(99), "{script}: there is no bridge");
    }
    // Whoever else listens there hears only what the command itself says; the port is taken.
    let listen = "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", int(\"'${HTTP_PROXY##*:}'\"))); s.listen()'";
    let output = way.run(listen);
    assert!(!output.status.success(), "{}", text(&output));
    let still = format!(
        "{FIND}kill -9 -1 2>/dev/null; ask \"GET http://localhost:$PORT/ HTTP/1.1\\r\\n\\r\\n\" | grep hello"
    );
    let output = way.run(&still);
    assert!(output.status.success() || way.machine.landlock < 6, "{}", text(&output));
}

#[test]
fn without_the_proxy_there_is_nobody() {
    let Some(way) = Way::open() else { return };
    let Way { bed, proxy, confined, places, .. } = way;
    drop(proxy);
    let output = bed.run(Some(&confined), "ws", "echo ran", None, &places);
    assert!(!output.status.success() && !text(&output).contains("ran\n"), "{}", text(&output));
}
