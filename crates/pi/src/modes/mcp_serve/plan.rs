//! The command line of the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_coding_agent::{AgentOptions, Environment};
use pi_config::settings::Profile;
use pi_host::Directories;
use pi_host::ceiling::Ceiling;
use pi_mcp::server::HttpOptions;

use super::super::listening::{host, token};
use super::super::setup;
use crate::arguments::Arguments;
use crate::flags::options::{self, Set};
use crate::flags::parse::CommandArgs;

const ADDRESS: &str = "127.0.0.1:8808";

/// Most runs at a time, unless the command line says something else.
const MAX_RUNS: usize = 4;

/// Values of the command line.
pub(super) struct Plan {
    pub(super) arguments: Arc<Arguments>,
    pub(super) environment: Environment,
    /// The directories that callers can work in.
    pub(super) directories: Directories,
    pub(super) max_runs: usize,
    /// The most that all runs can cost, in US dollars.
    pub(super) max_total_cost: Option<f64>,
    pub(super) http: Option<Http>,
    has_profile: bool,
}

/// The address of the server, and who may use it.
pub(super) struct Http {
    pub(super) address: String,
    pub(super) options: HttpOptions,
    /// A problem with the file of the token.
    pub(super) warning: Option<String>,
}

impl Plan {
    /// Reads the command line. The error is a message for the user.
    pub(super) fn new(args: &CommandArgs, environment: Environment) -> Result<Self, String> {
        let mut arguments = Arguments::default();
        for (name, value) in args.given() {
            apply(&mut arguments, name, value.unwrap_or_default())?;
        }
        let given = args.values("dir").map(|path| environment.expand(path, &environment.cwd));
        let given: Vec<PathBuf> = given.collect();
        let directories = match given.is_empty() {
            true => Directories::new(std::slice::from_ref(&environment.cwd)),
            false => Directories::new(&given),
        };
        let directories = directories.map_err(|error| match given.is_empty() {
            true => error.to_string(),
            false => format!("--dir: {error}"),
        })?;
        let max_runs = match args.value("max-runs") {
            None => MAX_RUNS,
            Some(text) => text
                .parse()
                .ok()
                .filter(|number| (1..=64).contains(number))
                .ok_or_else(|| format!("--max-runs: \"{text}\" is not a number from 1 to 64"))?,
        };
        let max_total_cost = args.value("max-total-cost").map(dollars).transpose()?;
        let http = args.has("http").then(|| http(args, &environment)).transpose()?;
        if http.is_none() && (args.has("token-file") || args.has("allow-host")) {
            return Err("--token-file and --allow-host require --http".to_owned());
        }
        let has_profile = args.has("profile");
        Ok(Self {
            arguments: Arc::new(arguments),
            environment,
            directories,
            max_runs,
            max_total_cost,
            http,
            has_profile,
        })
    }

    /// Makes a plan for a server with a listener and a command line of its own.
    #[cfg(feature = "serve")]
    pub(super) fn mounted(
        arguments: Arc<Arguments>,
        environment: Environment,
        directories: Directories,
        has_profile: bool,
    ) -> Self {
        let (max_runs, max_total_cost, http) = (MAX_RUNS, None, None);
        Self { arguments, environment, directories, max_runs, max_total_cost, http, has_profile }
    }

    /// Returns the options of a run in a directory, and the most that a caller can get there.
    pub(super) fn options(&self, directory: &Path) -> (AgentOptions, Ceiling) {
        let environment = Environment { cwd: directory.to_owned(), ..self.environment.clone() };
        let options = setup::options(&self.arguments, environment);
        let settings = options.project.settings();
        // Other programs get `explore` only from the command line.
        let profile = match settings.profile() {
            Profile::Explore if !self.has_profile => Profile::Careful,
            profile => profile,
        };
        let ceiling = Ceiling::new(profile, &settings.limits());
        (options, ceiling)
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| format!("--max-total-cost: \"{text}\" is not an amount such as 2.50"))
}

/// Applies an option that a run has, too.
fn apply(arguments: &mut Arguments, name: &str, value: &str) -> Result<(), String> {
    let Some(option) = options::all().find(|option| option.flag.long == name) else {
        return Ok(());
    };
    match option.set {
        Set::Value(set) => set(arguments, value.to_owned()),
        Set::Checked(set) => set(arguments, value.to_owned())?,
        Set::Switch(set) => set(arguments),
        Set::Maybe(set) => set(arguments, Some(value.to_owned())),
    }
    Ok(())
}

fn http(args: &CommandArgs, environment: &Environment) -> Result<Http, String> {
    let address = match args.value("http") {
        None => ADDRESS.to_owned(),
        Some(port) if port.parse::<u16>().is_ok() => format!("127.0.0.1:{port}"),
        Some(address) => address.to_owned(),
    };
    let token = args.value("token-file").map(|file| token(file, environment)).transpose()?;
    let (token, warning) = token.unzip();
    let hosts = args.values("allow-host").map(host).collect::<Result<_, _>>()?;
    Ok(Http { address, options: HttpOptions { hosts, token }, warning: warning.flatten() })
}
