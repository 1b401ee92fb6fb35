//! A confinement as a profile for Seatbelt of macOS.
//!
//! In a profile the last matching rule counts, so protected paths follow the writable ones. Paths
//! are matched as text; the roots are real paths without links.

use std::path::Path;

use super::roots::START_UP;
use super::{Confinement, Mode, Network};

/// Returns the profile of a confinement, for `sandbox-exec -p`.
pub fn seatbelt_profile(confinement: &Confinement) -> String {
    let mut lines: Vec<String> = [
        "(version 1)",
        "(deny default)",
        "(allow process-exec)",
        "(allow process-fork)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read*)",
        "(allow ipc-posix-sem)",
        "(allow pseudo-tty)",
        "(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))",
        "(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") \
         (literal \"/dev/ptmx\") (regex #\"^/dev/ttys[0-9]+$\"))",
        "(allow file-ioctl (literal \"/dev/tty\") (literal \"/dev/ptmx\") \
         (regex #\"^/dev/ttys[0-9]+$\"))",
    ]
    .map(str::to_owned)
    .into();
    for root in confinement.roots().into_iter().chain(confinement.private_tmp()) {
        lines.push(format!("(allow file-write* (subpath {}))", quoted(root)));
    }
    for root in confinement.roots() {
        for protected in &confinement.protected {
            let path = root.join(protected);
            lines.push(format!("(deny file-write* (subpath {}))", quoted(&path)));
            // A directory above a protected path could be renamed.
            let ways = path.ancestors().skip(1).take_while(|way| *way != root);
            for way in ways.filter(|way| way.starts_with(root)) {
                lines.push(format!("(deny file-write-unlink (literal {}))", quoted(way)));
            }
        }
    }
    if let (Some(home), Mode::WorkspaceWrite { .. }) = (&confinement.home, &confinement.mode) {
        for name in START_UP.iter() {
            lines.push(format!("(deny file-write* (subpath {}))", quoted(&home.join(name))));
        }
    }
    for program in &confinement.forbidden_programs {
        let program = quoted(program);
        lines.push(format!("(deny process-exec file-read-data (literal {program}))"));
    }
    for hidden in &confinement.hidden {
        lines.push(format!("(deny file-read* file-write* (subpath {}))", quoted(hidden)));
    }
    if confinement.network == Network::On {
        lines.push("(allow network-outbound (remote ip))".to_owned());
        lines.push("(allow network-inbound (local ip))".to_owned());
        lines.push("(allow network-bind (local ip))".to_owned());
        lines.push("(allow system-socket)".to_owned());
        lines.push(
            "(allow mach-lookup (global-name \"com.apple.SystemConfiguration.configd\") \
             (global-name \"com.apple.trustd.agent\"))"
                .to_owned(),
        );
        lines.push(
            "(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))".to_owned(),
        );
    }
    lines.push(String::new());
    lines.join("\n")
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_grant_and_deny_what_the_confinement_describes() {
        let mode = Mode::WorkspaceWrite {
            workspace: "/projects/a \"b\"".into(),
            extra_roots: vec!["/cache".into()],
            private_tmp: Some("/private/tmp/pi".into()),
        };
        let mut confinement = Confinement::new(mode, Network::Off);
        confinement.hidden.push("/projects/keys".into());
        confinement.forbidden_programs.push("/usr/bin/nc".into());
        insta::assert_snapshot!("workspace_write", seatbelt_profile(&confinement));
        let read_only = Confinement::new(Mode::ReadOnly, Network::On);
        insta::assert_snapshot!("read_only", seatbelt_profile(&read_only));
    }
}
