//! Git in a repository of its own: the commit of a run, and its push.
//!
//! Git runs outside of the sandbox with the rights of the user, so nothing that an agent could have
//! written may configure it: no hooks, no configuration and no attributes of the user's repository.
//! Objects are the only thing that the two repositories share. The user's own configuration
//! (`~/.gitconfig`) stays, because it has proxies and keys.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pi_agent::CancelToken;
use pi_base::process::{Rights, Variables, command};
use pi_config::Environment;
use pi_guard::secrets::Secrets;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::PublishError;
use super::repository::{Repository, is_id};

/// Time limit of one git command.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// Variables that git, ssh and curl need. All others stay out, such as those of a git command around
/// this program, and tokens.
const KEPT: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "USERPROFILE",
    "SystemRoot",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_EXEC_PATH",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// Configuration that overrides the user's: programs and defaults that would change the result.
const CONFIGURATION: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", "true"),
    ("http.followRedirects", "false"),
    ("push.gpgSign", "false"),
    ("push.followTags", "false"),
    ("push.negotiate", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// A bare repository in a temporary directory, which uses the objects of the user's repository.
#[derive(Debug)]
pub(super) struct Scratch<'a> {
    directory: tempfile::TempDir,
    repository: &'a Repository,
    program: PathBuf,
    variables: Vec<(OsString, OsString)>,
    secrets: &'a Secrets,
    cancel: &'a CancelToken,
}

/// The commit that a run makes.
#[derive(Debug)]
pub(super) struct NewCommit<'a> {
    pub(super) patch: &'a [u8],
    pub(super) message: &'a str,
    /// Time in ISO 8601, so that a repetition makes the same commit.
    pub(super) time: &'a str,
}

/// The input and the configuration of a git command.
#[derive(Default)]
struct Input<'a> {
    text: &'a [u8],
    header: Option<&'a (String, SecretString)>,
    variables: Vec<(&'a str, &'a str)>,
}

/// The output of a git command that succeeded.
struct Output {
    text: String,
    messages: String,
}

impl<'a> Scratch<'a> {
    /// Creates the repository in the directory of a run.
    pub(super) async fn create(
        run_directory: &Path,
        repository: &'a Repository,
        environment: &Environment,
        secrets: &'a Secrets,
        cancel: &'a CancelToken,
    ) -> Result<Self, PublishError> {
        let search = search_path(environment, &repository.top);
        let program = pi_fs::find_program("git", None, Some(&search)).ok_or(PublishError::NoGit)?;
        let directory = tempfile::Builder::new().prefix("publish-").tempdir_in(run_directory);
        let directory = directory.map_err(PublishError::io("create", run_directory))?;
        let kept = KEPT.iter().filter_map(|name| Some((*name, environment.variable(name)?)));
        let mut variables: Vec<(OsString, OsString)> =
            kept.map(|(name, value)| (name.into(), value.into())).collect();
        let git = directory.path().join("git");
        variables.extend([
            ("PATH".into(), search),
            ("GIT_INDEX_FILE".into(), git.join("index").into()),
            ("GIT_DIR".into(), git.into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), quoted(&repository.objects())?.into()),
        ]);
        let fixed = [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_ALLOW_PROTOCOL", "https:http:ssh"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            // A trace would contain the header with the token.
            ("GIT_TRACE2", "0"),
            ("GIT_TRACE2_EVENT", "0"),
            ("GIT_TRACE2_PERF", "0"),
            ("LC_ALL", "C"),
        ];
        variables.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        let scratch = Self { directory, repository, program, variables, secrets, cancel };
        let format = match &repository.commit {
            Some(id) if id.len() == 64 => "--object-format=sha256",
            _ => "--object-format=sha1",
        };
        let init = ["init", "--quiet", "--bare", "--template=", format];
        scratch.git("create a temporary repository", &init, Input::default()).await?;
        if let Some(shallow) = repository.shallow() {
            let path = scratch.directory.path().join("git/shallow");
            std::fs::write(&path, shallow).map_err(PublishError::io("write", &path))?;
        }
        Ok(scratch)
    }

    /// Returns the id of the commit that the run started from.
    pub(super) async fn start(&self) -> Result<String, PublishError> {
        let name = self.repository.commit.as_ref().ok_or(PublishError::NoCommit)?;
        let name = format!("{name}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        let found = self.git("find the commit of the run", &arguments, Input::default()).await;
        let id = found.map_err(|_| PublishError::NoCommit)?.text;
        if is_id(&id) { Ok(id) } else { Err(PublishError::NoCommit) }
    }

    /// Makes a commit of a patch on top of `start`. Returns its id.
    pub(super) async fn commit(
        &self,
        start: &str,
        new: &NewCommit<'_>,
    ) -> Result<String, PublishError> {
        let read = ["read-tree", start];
        self.git("read the commit of the run", &read, Input::default()).await?;
        let directory = format!("--directory={}", self.repository.prefix);
        let mut apply = vec!["apply", "--cached", "--verbose", "--whitespace=nowarn"];
        apply.push("--no-ignore-whitespace");
        if !self.repository.prefix.is_empty() {
            apply.push(&directory);
        }
        apply.push("-");
        let input = Input { text: new.patch, ..Input::default() };
        let applied = match self.git("apply the changes", &apply, input).await {
            Err(PublishError::Git { message, .. }) => return Err(PublishError::Conflict(message)),
            other => other?,
        };
        // Such a hunk has found its lines in another place than the checks have seen.
        let moved = |line: &&str| line.starts_with("Hunk ") && line.contains("(offset ");
        if let Some(line) = applied.messages.lines().find(moved) {
            return Err(PublishError::Conflict(line.to_owned()));
        }
        let tree = self.git("write the tree", &["write-tree"], Input::default()).await?.text;
        let variables = vec![("GIT_AUTHOR_DATE", new.time), ("GIT_COMMITTER_DATE", new.time)];
        let identity = if self.has_identity().await { None } else { Some(("pi", "pi@localhost")) };
        let names = identity.into_iter().flat_map(|(name, email)| {
            let author = [("GIT_AUTHOR_NAME", name), ("GIT_AUTHOR_EMAIL", email)];
            author.into_iter().chain([("GIT_COMMITTER_NAME", name), ("GIT_COMMITTER_EMAIL", email)])
        });
        let variables = variables.into_iter().chain(names).collect();
        let input = Input { text: new.message.as_bytes(), variables, ..Input::default() };
        let arguments = ["commit-tree", "--no-gpg-sign", &tree, "-p", start];
        Ok(self.git("make the commit", &arguments, input).await?.text)
    }

    /// Returns true if the user has configured a name and an address.
    async fn has_identity(&self) -> bool {
        let strict = ["-c", "user.useConfigOnly=true", "var"];
        for name in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            let arguments = [strict.as_slice(), &[name]].concat();
            if self.git("find the name of the user", &arguments, Input::default()).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Returns the commits of these branches of the remote, `None` for those that do not exist.
    pub(super) async fn remote_branches<const N: usize>(
        &self,
        url: &str,
        header: Option<&(String, SecretString)>,
        branches: [&str; N],
    ) -> Result<[Option<String>; N], PublishError> {
        let names = branches.map(|branch| format!("refs/heads/{branch}"));
        let mut arguments = vec!["ls-remote", "--quiet", "--", url];
        arguments.extend(names.iter().map(String::as_str));
        let input = Input { header, ..Input::default() };
        let found = self.git("read the branches of the remote", &arguments, input).await?.text;
        // A pattern also matches the end of longer names.
        Ok(names.map(|name| {
            let lines = found.lines().filter_map(|line| line.split_once('\t'));
            lines.into_iter().find(|(_, found)| *found == name).map(|(id, _)| id.to_owned())
        }))
    }

    /// Pushes a commit as a new branch. Fails if the branch exists.
    pub(super) async fn push(
        &self,
        url: &str,
        header: Option<&(String, SecretString)>,
        commit: &str,
        branch: &str,
    ) -> Result<(), PublishError> {
        let lease = format!("--force-with-lease=refs/heads/{branch}:");
        let refspec = format!("{commit}:refs/heads/{branch}");
        let arguments = [
            "push",
            "--quiet",
            "--porcelain",
            "--no-verify",
            "--no-signed",
            "--no-follow-tags",
            "--recurse-submodules=no",
            &lease,
            "--",
            url,
            &refspec,
        ];
        let input = Input { header, ..Input::default() };
        self.git("push the branch", &arguments, input).await.map(drop)
    }

    /// Runs git in the repository.
    async fn git(
        &self,
        purpose: &'static str,
        arguments: &[&str],
        input: Input<'_>,
    ) -> Result<Output, PublishError> {
        let failed = |message: String| PublishError::Git { purpose, message };
        let start =
            command(&self.program, Some(self.directory.path()), Variables::Empty, Rights::User);
        let mut process = Command::from(start);
        process.args(arguments).envs(self.variables.iter().cloned());
        process.envs(input.variables.iter().copied()).envs(configuration(input.header));
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            process.kill_on_drop(true).spawn().map_err(|error| failed(error.to_string()))?;
        let stdin = child.stdin.take();
        let write = async {
            if let Some(mut stdin) = stdin {
                // Git that has failed reads no more; its exit code tells.
                let _ = stdin.write_all(input.text).await;
            }
        };
        let run = async { tokio::join!(write, child.wait_with_output()).1 };
        let ended = tokio::select! {
            ended = tokio::time::timeout(PATIENCE, run) => ended,
            () = self.cancel.cancelled() => return Err(PublishError::Interrupted),
        };
        let output = match ended {
            Ok(output) => output.map_err(|error| failed(error.to_string()))?,
            Err(_) => return Err(failed("git did not end in time".to_owned())),
        };
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            self.secrets.redact_known(text.trim_end()).into_owned()
        };
        let (out, messages) = (text(&output.stdout), text(&output.stderr));
        if output.status.success() {
            return Ok(Output { text: out, messages });
        }
        let shown = if messages.is_empty() { out } else { messages };
        Err(failed(pi_base::text::line(&shown, 600)))
    }
}

/// Returns the configuration of a command as variables, which other users of the machine cannot see.
fn configuration(header: Option<&(String, SecretString)>) -> Vec<(String, String)> {
    let mut all: Vec<(&str, &str)> = CONFIGURATION.to_vec();
    if let Some((key, header)) = header {
        // Another credential, or a dialog for one, must not replace the token.
        all.extend([("credential.helper", ""), (key, header.expose_secret())]);
    }
    let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), all.len().to_string())];
    for (index, (key, value)) in all.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{index}"), key.to_owned()));
        variables.push((format!("GIT_CONFIG_VALUE_{index}"), value.to_owned()));
    }
    variables
}

/// Returns the search path without relative directories and those of the workspace, in which an
/// agent can write programs.
fn search_path(environment: &Environment, top: &Path) -> OsString {
    let path = environment.variable("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
    let is_safe = |directory: &PathBuf| {
        let real = directory.canonicalize();
        directory.is_absolute() && real.is_ok_and(|real| !real.starts_with(top))
    };
    std::env::join_paths(std::env::split_paths(path).filter(is_safe)).unwrap_or_default()
}

/// Returns a directory as an entry of a list, in quotes as git reads them.
fn quoted(path: &Path) -> Result<String, PublishError> {
    let invalid = || PublishError::InvalidPath(path.to_owned());
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    Ok(format!("\"{}\"", text.ok_or_else(invalid)?.replace('\\', "\\\\").replace('"', "\\\"")))
}
