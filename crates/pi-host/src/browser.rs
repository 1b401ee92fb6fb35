//! Opening a page in the user's browser.
//!
//! Only where a browser of this machine is in front of the user: not over SSH, and not without a
//! display. The page is printed in any case.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use pi_base::process::{Rights, Variables, command};
use pi_coding_agent::Environment;

/// Returns the program that opens pages; `None` if there is no browser in front of the user.
pub fn program(environment: &Environment) -> Option<String> {
    let is_set = |name: &str| environment.variable(name).is_some();
    if is_set("SSH_CONNECTION") || is_set("SSH_TTY") || is_set("SSH_CLIENT") {
        return None;
    }
    // The user's choice counts even without a display.
    if let Some(program) = environment.variable("BROWSER") {
        return Some(program.to_owned());
    }
    if cfg!(target_os = "macos") {
        return Some("open".to_owned());
    }
    let has_display = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    has_display.then(|| "xdg-open".to_owned())
}

/// Opens a page and does not wait for the browser. Returns false if the page is not a web page or
/// the program cannot be started.
pub fn open(program: &str, url: &str) -> bool {
    if !["https://", "http://"].iter().any(|start| url.starts_with(start)) {
        return false;
    }
    start(program, url.as_ref())
}

/// Opens a page of this machine that leads to an address with a secret: arguments of programs can be
/// read by other users, files that only their owner can read cannot. Returns false if the program
/// cannot be started.
pub fn open_private(program: &str, page: &Path) -> bool {
    page.is_absolute() && start(program, page.as_os_str())
}

fn start(program: &str, page: &OsStr) -> bool {
    let mut command = command(program, None, Variables::Inherited, Rights::User);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // Reaps the program, which may run as long as the browser.
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_browser_is_opened_only_in_front_of_the_user() {
        let program = |variables: &[(&str, &str)]| {
            let variables =
                variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let mut environment = Environment::new("/", "/agent");
            environment.variables = Arc::new(variables.collect());
            super::program(&environment)
        };
        let ssh = [("BROWSER", "firefox"), ("DISPLAY", ":0"), ("SSH_CONNECTION", "1 2 3 4")];
        assert_eq!(program(&ssh), None);
        assert_eq!(program(&[("BROWSER", "firefox")]).as_deref(), Some("firefox"));
        #[cfg(target_os = "linux")]
        {
            assert_eq!(program(&[]), None);
            assert_eq!(program(&[("DISPLAY", "")]), None);
            assert_eq!(program(&[("WAYLAND_DISPLAY", "w")]).as_deref(), Some("xdg-open"));
        }
    }

    #[test]
    fn only_web_pages_are_opened() {
        assert!(!open("/bin/true", "file:///etc/passwd"));
        assert!(!open("/nonexistent/browser", "https://example.com"));
    }
}
