//! The command line of the server.

use std::path::PathBuf;

use pi_coding_agent::Environment;
use pi_host::Directories;
use pi_serve::{Refused, ServeOptions, Tls};

use super::super::listening::{host, token};
use crate::arguments::Arguments;
use crate::exit::note;
use crate::flags::acp::arguments;
use crate::flags::parse::CommandArgs;

/// The port of a server without `--port`.
pub(super) const PORT: u16 = 7317;

/// Values of the command line.
pub(super) struct Plan {
    pub(super) arguments: Arguments,
    pub(super) environment: Environment,
    pub(super) address: String,
    pub(super) options: ServeOptions,
    pub(super) tls: Option<Tls>,
    /// The token of the owner, if the user has one.
    pub(super) token: Option<String>,
    pub(super) opens: bool,
    pub(super) prints_qr: bool,
    /// The command line names a profile.
    pub(super) has_profile: bool,
}

impl Plan {
    /// Reads the command line. The error is a message for the user.
    pub(super) fn new(args: &CommandArgs, environment: Environment) -> Result<Self, String> {
        let mut arguments = arguments(args)?;
        // Sessions have working directories of their own, to which the option does not refer.
        if let Some(directory) = arguments.session_dir.take().filter(|given| !given.is_empty()) {
            let directory = environment.expand(&directory, &environment.cwd);
            arguments.session_dir = Some(directory.to_string_lossy().into_owned());
        }
        let port = args.value("port").map_or(Ok(PORT), |text| {
            text.parse().map_err(|_| format!("--port: \"{text}\" is not a number up to 65535"))
        })?;
        let address = match args.value("bind") {
            None => format!("127.0.0.1:{port}"),
            Some(bind) => bound(bind, port)?,
        };
        let tls = match (args.value("tls-cert"), args.value("tls-key")) {
            (Some(certificate), Some(key)) => {
                let [certificate, key] =
                    [certificate, key].map(|file| environment.expand(file, &environment.cwd));
                Some(Tls::read(&certificate, &key).map_err(|error| error.to_string())?)
            }
            (None, None) => None,
            _ => return Err("--tls-cert and --tls-key require each other".to_owned()),
        };
        let directory = environment.agent_directory.join("serve");
        let directories = directories(args, &environment)?;
        let mut options = ServeOptions::new(env!("CARGO_PKG_VERSION"), directory, directories);
        options.hosts = args.values("allow-host").map(host).collect::<Result<_, _>>()?;
        options.public_url = args.value("public-url").map(public_url).transpose()?;
        options.insecure_lan = args.has("insecure-lan");
        options.is_encrypted = tls.is_some();
        options.advice = advice;
        options.secrets = crate::secrets::own().clone();
        let given = args.value("token-file").map(|file| token(file, &environment)).transpose()?;
        let (token, warning) = given.unzip();
        if let Some(warning) = warning.flatten() {
            note(&format!("warning: {warning}"));
        }
        let (opens, prints_qr) = (args.has("open"), !args.has("no-qr"));
        let has_profile = args.has("profile");
        options.acp = Some(super::super::acp::over_network(&arguments));
        Ok(Self {
            arguments,
            environment,
            address,
            options,
            tls,
            token,
            opens,
            prints_qr,
            has_profile,
        })
    }
}

/// Returns an address with its port.
fn bound(bind: &str, port: u16) -> Result<String, String> {
    if let Ok(address) = bind.trim_matches(['[', ']']).parse::<std::net::IpAddr>() {
        return Ok(std::net::SocketAddr::new(address, port).to_string());
    }
    match bind {
        "localhost" => Ok(format!("127.0.0.1:{port}")),
        _ => Err(format!("--bind: \"{bind}\" is not an IP address; set the port with --port")),
    }
}

fn directories(args: &CommandArgs, environment: &Environment) -> Result<Directories, String> {
    let given = args.values("directory").map(|path| environment.expand(path, &environment.cwd));
    let given: Vec<PathBuf> = given.collect();
    match given.is_empty() {
        true => Directories::new(std::slice::from_ref(&environment.cwd))
            .map_err(|error| error.to_string()),
        false => Directories::new(&given).map_err(|error| format!("--directory: {error}")),
    }
}

fn public_url(text: &str) -> Result<pi_serve::Url, String> {
    let invalid = || {
        format!("--public-url: expected an address such as https://pi.example.org, not \"{text}\"")
    };
    let url = pi_serve::Url::parse(text).map_err(|_| invalid())?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty();
    if is_plain { Ok(url) } else { Err(invalid()) }
}

/// Returns the hint for a request that is refused, or an address that is not served.
fn advice(refused: Refused<'_>) -> Option<String> {
    match refused {
        Refused::Host("") => None,
        Refused::Host(host) => Some(format!(
            "start the server with --allow-host {host}, or with --public-url if a proxy is before it"
        )),
        Refused::Origin(_) => Some(
            "open the page of the server itself; behind a proxy, start it with --public-url URL"
                .to_owned(),
        ),
        Refused::Unencrypted(_) => Some(
            "give a certificate with --tls-cert and --tls-key, or stay at 127.0.0.1 behind a proxy \
             such as `tailscale serve`; --insecure-lan permits it without encryption"
                .to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_a_port() {
        assert_eq!(bound("0.0.0.0", 80).as_deref(), Ok("0.0.0.0:80"));
        assert_eq!(bound("::1", 80).as_deref(), Ok("[::1]:80"));
        assert_eq!(bound("[::]", 80).as_deref(), Ok("[::]:80"));
        assert_eq!(bound("localhost", 80).as_deref(), Ok("127.0.0.1:80"));
        assert!(bound("127.0.0.1:90", 80).is_err() && bound("example.org", 80).is_err());
    }

    #[test]
    fn public_addresses_are_those_of_a_whole_site() {
        assert!(public_url("https://pi.example.org").is_ok());
        for wrong in ["pi.example.org", "ftp://x", "https://x/y", "https://x/?a", "https://u@x", ""]
        {
            assert!(public_url(wrong).is_err(), "{wrong}");
        }
    }
}
