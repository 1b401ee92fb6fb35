//! The end of a run as a pull request: one commit on a new branch, pushed, and shown for review.
//!
//! The commit has the base commit of the run and exactly the reported diff. Nothing in the user's
//! repository changes: not the index, not the branches, not the working tree. A repetition makes the
//! same commit and finds the same pull request, so that a failed publication can be repeated without
//! the agent.

mod api;
mod config;
mod git;
mod remote;
mod repository;
mod request;
mod server;
mod text;

use std::io;
use std::path::{Path, PathBuf};

use pi_agent::CancelToken;
use pi_config::Environment;
use pi_fs::FileError;
use pi_guard::secrets::Secrets;

use api::Api;
use git::{NewCommit, Scratch};
pub(crate) use repository::Repository;
use request::{NewPullRequest, PullRequest};
use server::Server;
pub(crate) use text::is_branch;

use crate::contract::PublishPlan;
use crate::outcome::Outcome;
use crate::report::{Publication, PublicationState, Report};

/// Returns true if the changes of a run with this outcome become a pull request.
pub(crate) fn is_publishable(outcome: Outcome) -> bool {
    outcome.has_result()
}

/// Reasons why a run is not published.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PublishError {
    #[error("the workspace is not in a git repository with a working tree")]
    NoRepository,
    #[error("the repository has no remote {0:?} with an address for https or ssh")]
    NoRemote(String),
    #[error("the remote {0} is not encrypted; use https or ssh")]
    PlainHttp(String),
    #[error("the remote {0} is not a project such as owner/name")]
    NotAProject(String),
    #[error("the API of {0} is not known; set publish.api")]
    UnknownServer(String),
    #[error("publish.api: {api} is not the API of {server}: expected https and the same host")]
    InvalidApi { api: String, server: String },
    #[error("no token for the server: set {}", .0.join(" or "))]
    NoToken(&'static [&'static str]),
    #[error("the variable {0} is not a token")]
    InvalidToken(&'static str),
    #[error("git is not installed")]
    NoGit,
    #[error("the path {} cannot be given to git", .0.display())]
    InvalidPath(PathBuf),
    #[error("the commit that the run started from is not known")]
    NoCommit,
    #[error("the diff of the run does not exist")]
    NoDiff,
    #[error("the diff does not contain the content of these files, which is not text: {}", .0.join(", "))]
    NotText(Vec<String>),
    #[error("the diff contains a credential of this environment")]
    Credential,
    #[error(
        "the changes do not apply to the commit that the run started from; files of the workspace were not committed then: {0}"
    )]
    Conflict(String),
    #[error("cannot {purpose}: {message}")]
    Git { purpose: &'static str, message: String },
    #[error("the remote has no branch {0:?}; set publish.base")]
    NoBase(String),
    #[error(
        "the branch {base:?} of the remote does not have the commit {commit} that the run started from; push it first, or set publish.base"
    )]
    NotPushed { base: String, commit: String },
    #[error("the branch {0:?} of the remote exists and has other commits")]
    BranchExists(String),
    #[error("publish.branch: {0:?} is the branch that the pull request is for")]
    SameBranch(String),
    #[error("{0:?} is not the name of a branch")]
    InvalidBranch(String),
    #[error("cannot {purpose}: {}{message}", http_status(*.status))]
    Api { purpose: &'static str, status: Option<u16>, message: String },
    #[error("cannot {0}: the answer of the server is not complete")]
    Incomplete(&'static str),
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Io(#[from] FileError),
}

impl PublishError {
    fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        FileError::at(action, path)
    }
}

fn http_status(code: Option<u16>) -> String {
    code.map(|code| format!("HTTP {code} ")).unwrap_or_default()
}

/// Checks everything that is known before the agent starts: the repository, the server, the token.
pub(crate) fn examine(
    plan: &PublishPlan,
    repository: Option<&Repository>,
    environment: &Environment,
) -> Result<(), PublishError> {
    let repository = repository.ok_or(PublishError::NoRepository)?;
    repository.commit.as_ref().ok_or(PublishError::NoCommit)?;
    Server::choose(plan, repository, |name| environment.variable(name)).map(drop)
}

/// Publishes finished runs.
#[derive(Debug)]
pub(crate) struct Publisher {
    pub(crate) plan: PublishPlan,
    pub(crate) repository: Option<Repository>,
    pub(crate) environment: Environment,
    /// Proxy of the settings.
    pub(crate) proxy: Option<String>,
    pub(crate) secrets: Secrets,
    pub(crate) cancel: CancelToken,
    pub(crate) run_directory: PathBuf,
}

impl Publisher {
    /// Publishes a run, and adds the result to its report. A run that was published stays as it is.
    pub(crate) async fn publish(&self, mut report: Report) -> Report {
        let is_done = report.publication.as_ref().is_some_and(|last| !last.has_failed());
        if !is_publishable(report.outcome) || is_done {
            return report;
        }
        // The body of the pull request is the report without an earlier failure.
        report.publication = None;
        let mut publication = Publication::default();
        let published = self.perform(&report, &mut publication).await;
        report.exit_code = report.outcome.exit_code();
        match published {
            Ok(state) => publication.state = state,
            Err(error) => {
                publication.error =
                    Some(self.secrets.redact_known(&error.to_string()).into_owned());
                // The work is done, and what was asked for is not: the code of a failure.
                report.exit_code = Outcome::Failed.exit_code();
            }
        }
        report.publication = Some(publication);
        report
    }

    async fn perform(
        &self,
        report: &Report,
        publication: &mut Publication,
    ) -> Result<PublicationState, PublishError> {
        if report.files.is_empty() {
            return Ok(PublicationState::NoChanges);
        }
        let repository = self.repository.as_ref().ok_or(PublishError::NoRepository)?;
        let variable = |name: &str| self.environment.variable(name);
        let server = Server::choose(&self.plan, repository, variable)?;
        self.secrets.add(server.secrets());
        let branch = text::branch(report, &self.plan);
        if !is_branch(&branch) {
            return Err(PublishError::InvalidBranch(branch));
        }
        publication.branch = Some(branch.clone());
        let patch = self.patch(report)?;
        let (secrets, cancel) = (&self.secrets, &self.cancel);
        let api = Api::new(&server, &self.environment, self.proxy.clone(), secrets, cancel);
        let base = self.base(repository, &server, &api).await?;
        if base == branch {
            return Err(PublishError::SameBranch(branch));
        }
        publication.base = Some(base.clone());
        let directory = &self.run_directory;
        let scratch =
            Scratch::create(directory, repository, &self.environment, secrets, cancel).await?;
        let start = scratch.start().await?;
        let message = text::commit_message(report, &self.plan);
        let new = NewCommit { patch: &patch, message: &message, time: &report.finished };
        let commit = scratch.commit(&start, &new).await?;
        publication.commit = Some(commit.clone());

        let (url, header) = (server.remote.to_git(), server.git_header());
        let found = scratch.remote_branches(&url, header.as_ref(), [&branch, &base]).await?;
        let [existing, tip] = found;
        let tip = tip.ok_or_else(|| PublishError::NoBase(base.clone()))?;
        if tip != start && !is_contained(&server, &api, &base, &start).await? {
            return Err(PublishError::NotPushed { base, commit: start });
        }
        match existing {
            None => scratch.push(&url, header.as_ref(), &commit, &branch).await?,
            Some(existing) if existing == commit => {}
            Some(_) => return Err(PublishError::BranchExists(branch)),
        }
        let (state, request) = self.open(report, &server, &api, &branch, &base).await?;
        publication.url = Some(request.url);
        if let Some(labels) = server.label_request(request.number, &self.plan.labels) {
            api.send(labels).await?;
        }
        Ok(state)
    }

    /// Finds or creates the pull request of a branch.
    async fn open(
        &self,
        report: &Report,
        server: &Server,
        api: &Api<'_>,
        branch: &str,
        base: &str,
    ) -> Result<(PublicationState, PullRequest), PublishError> {
        let listed = api.send(server.find_request(branch)).await?;
        if let Some(found) = server.found(&listed, branch) {
            return Ok((PublicationState::Found, found));
        }
        let (title, body) = (text::title(report, &self.plan), text::body(report));
        let create = server.create_request(&NewPullRequest {
            title: &title,
            body: &body,
            branch,
            base,
            draft: self.plan.draft,
            labels: &self.plan.labels,
        });
        let purpose = create.purpose;
        let created = server.pull_request(&api.send(create).await?);
        Ok((PublicationState::Created, created.ok_or(PublishError::Incomplete(purpose))?))
    }

    /// Returns the branch that the pull request is for.
    async fn base(
        &self,
        repository: &Repository,
        server: &Server,
        api: &Api<'_>,
    ) -> Result<String, PublishError> {
        let names = server.kind.branches().iter();
        let given = self.plan.base.as_deref().or(repository.branch.as_deref());
        let given =
            given.or_else(|| names.copied().find_map(|name| self.environment.variable(name)));
        let base = match given {
            Some(base) => base.to_owned(),
            None => {
                let request = server.project_request();
                let purpose = request.purpose;
                let answer = api.send(request).await?;
                let name = answer["default_branch"].as_str().map(str::to_owned);
                name.ok_or(PublishError::Incomplete(purpose))?
            }
        };
        if is_branch(&base) { Ok(base) } else { Err(PublishError::InvalidBranch(base)) }
    }

    /// Returns the whole diff of a run, if it can become a commit.
    fn patch(&self, report: &Report) -> Result<Vec<u8>, PublishError> {
        let file = report.diff_file.as_ref().and_then(|file| file.file_name());
        // A run can be resumed on another machine, so the directory is not that of the report.
        let file = self.run_directory.join(file.ok_or(PublishError::NoDiff)?);
        let patch = std::fs::read(&file).map_err(PublishError::io("read", &file))?;
        let opaque = opaque_files(&patch);
        if !opaque.is_empty() {
            return Err(PublishError::NotText(opaque));
        }
        let text = String::from_utf8_lossy(&patch);
        if self.secrets.redact_known(&text) != text {
            return Err(PublishError::Credential);
        }
        Ok(patch)
    }
}

/// Returns true if a branch of the server has a commit.
async fn is_contained(
    server: &Server,
    api: &Api<'_>,
    base: &str,
    commit: &str,
) -> Result<bool, PublishError> {
    match api.send(server.compare_request(base, commit)).await {
        Ok(answer) => Ok(server.is_contained(&answer)),
        // The server does not have the commit at all.
        Err(PublishError::Api { status: Some(404), .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the files that a diff only names.
fn opaque_files(patch: &[u8]) -> Vec<String> {
    // Lines of contents begin with a sign.
    let lines = patch.split(|byte| *byte == b'\n');
    let names = lines.filter_map(|line| line.strip_prefix(b"Binary files "));
    let shown = |name: &[u8]| {
        let text = String::from_utf8_lossy(name);
        let text = text.strip_suffix(" differ").unwrap_or(&text);
        let name = text.rsplit_once(" and ").map_or(text, |(_, name)| name);
        pi_base::text::one_line(name.strip_prefix("b/").unwrap_or(name))
    };
    names.map(shown).collect()
}

/// Returns the repository of a workspace at the start of a run.
pub(crate) fn repository_of(
    cwd: &Path,
    plan: &crate::contract::WorkspacePlan,
) -> Option<Repository> {
    let directory = plan.directory.as_ref().map_or_else(|| cwd.to_owned(), |path| cwd.join(path));
    Repository::read(&directory, plan.base.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_text_are_named() {
        let patch = b"diff --git a/x b/x\n+Binary files a and b differ\n\
            Binary files a/img one.png and b/img one.png differ\n";
        assert_eq!(opaque_files(patch), ["img one.png"]);
        assert!(opaque_files(b"").is_empty());
    }

    #[test]
    fn only_a_run_whose_checks_passed_is_published() {
        let published = Outcome::ALL.iter().filter(|outcome| is_publishable(**outcome));
        assert_eq!(published.collect::<Vec<_>>(), [&Outcome::Converged, &Outcome::NeedsReview]);
    }
}
