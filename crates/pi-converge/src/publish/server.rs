//! The server of a remote, and the token for it. Pure.
//!
//! A token goes only to github.com, to gitlab.com, to the server of a CI job, or to the server that
//! the plan names, and only if the remote is on the same host.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};

use super::PublishError;
use super::remote::{ApiUrl, RemoteUrl};
use super::repository::Repository;
use crate::contract::PublishPlan;

/// Name of the remote without one in the plan.
const REMOTE: &str = "origin";

/// The kind of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerKind {
    GitHub,
    GitLab,
}

/// The server that receives the branch and the pull request.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) kind: ServerKind,
    pub(super) remote: RemoteUrl,
    /// Address of the API, without a slash at its end.
    pub(super) api: String,
    /// Path of the project, such as `owner/name`.
    pub(super) project: String,
    token: SecretString,
    /// Name of the variable that the token comes from.
    variable: &'static str,
}

impl Server {
    /// Chooses the server of a run.
    pub(super) fn choose<'a>(
        plan: &PublishPlan,
        repository: &Repository,
        variable: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, PublishError> {
        let name = plan.remote.as_deref().unwrap_or(REMOTE);
        let remote = repository.remotes.get(name);
        let remote = remote.ok_or_else(|| PublishError::NoRemote(name.to_owned()))?.clone();
        if remote.is_plain() {
            return Err(PublishError::PlainHttp(remote.to_string()));
        }
        let (kind, api) = api(plan, &remote, &variable)?;
        let below = api.path.strip_suffix("/api/v4").unwrap_or_default();
        let project = remote.project(below).to_owned();
        let segments = project.split('/').count();
        let is_project = match kind {
            ServerKind::GitHub => segments == 2,
            ServerKind::GitLab => segments >= 2,
        };
        if !is_project {
            return Err(PublishError::NotAProject(remote.to_string()));
        }
        let names = kind.tokens();
        let found = names.iter().find_map(|name| Some((*name, variable(name)?.trim())));
        let (variable, token) = found.ok_or(PublishError::NoToken(names))?;
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(PublishError::InvalidToken(variable));
        }
        let token = SecretString::from(token);
        Ok(Self { kind, remote, api: api.base, project, token, variable })
    }

    /// Returns the headers of a request to the API.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        let token = self.token.expose_secret();
        let headers = match (self.kind, self.variable) {
            (ServerKind::GitHub, _) => vec![
                ("authorization", format!("Bearer {token}")),
                ("accept", "application/vnd.github+json".to_owned()),
                ("x-github-api-version", "2022-11-28".to_owned()),
            ],
            (ServerKind::GitLab, JOB_TOKEN) => vec![("job-token", token.to_owned())],
            (ServerKind::GitLab, _) => vec![("private-token", token.to_owned())],
        };
        headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns the configuration that authenticates git: a key, which limits the header to the
    /// server, and the header. `None` for SSH, which uses the keys of the user.
    pub(super) fn git_header(&self) -> Option<(String, SecretString)> {
        let origin = self.remote.http_origin()?;
        let user = match (self.kind, self.variable) {
            (ServerKind::GitHub, _) => "x-access-token",
            (ServerKind::GitLab, JOB_TOKEN) => "gitlab-ci-token",
            (ServerKind::GitLab, _) => "oauth2",
        };
        let encoded = STANDARD.encode(format!("{user}:{}", self.token.expose_secret()));
        let header = SecretString::from(format!("Authorization: Basic {encoded}"));
        Some((format!("http.{origin}.extraHeader"), header))
    }

    /// Returns the texts that no message may contain.
    pub(super) fn secrets(&self) -> Vec<String> {
        let header = self.git_header().map(|(_, header)| header.expose_secret().to_owned());
        let encoded = header.and_then(|text| Some(text.rsplit_once(' ')?.1.to_owned()));
        encoded.into_iter().chain([self.token.expose_secret().to_owned()]).collect()
    }
}

const JOB_TOKEN: &str = "CI_JOB_TOKEN";

impl ServerKind {
    /// The variables with a token, in the order of their use.
    fn tokens(self) -> &'static [&'static str] {
        match self {
            Self::GitHub => &["GITHUB_TOKEN", "GH_TOKEN"],
            Self::GitLab => &["GITLAB_TOKEN", JOB_TOKEN],
        }
    }

    /// The variables with the branch of a CI job, in the order of their use.
    pub(super) fn branches(self) -> &'static [&'static str] {
        match self {
            Self::GitHub => &["GITHUB_HEAD_REF"],
            Self::GitLab => &["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH"],
        }
    }
}

/// Returns the API of a remote.
fn api<'a>(
    plan: &PublishPlan,
    remote: &RemoteUrl,
    variable: &impl Fn(&str) -> Option<&'a str>,
) -> Result<(ServerKind, ApiUrl), PublishError> {
    let server = remote.server();
    if let Some(given) = &plan.api {
        let api = ApiUrl::parse(given).filter(|api| api.serves(server));
        let invalid = || PublishError::InvalidApi { api: given.clone(), server: server.to_owned() };
        let api = api.ok_or_else(invalid)?;
        let is_gitlab = api.path.ends_with("/api/v4");
        let kind = if is_gitlab { ServerKind::GitLab } else { ServerKind::GitHub };
        return Ok((kind, api));
    }
    let candidates = [
        (ServerKind::GitLab, variable("CI_API_V4_URL")),
        (ServerKind::GitHub, variable("GITHUB_API_URL")),
        (ServerKind::GitHub, Some("https://api.github.com")),
        (ServerKind::GitLab, Some("https://gitlab.com/api/v4")),
    ];
    let mut candidates =
        candidates.into_iter().filter_map(|(kind, url)| Some((kind, ApiUrl::parse(url?)?)));
    let found = candidates.find(|(_, api)| api.serves(server));
    found.ok_or_else(|| PublishError::UnknownServer(server.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    fn repository(remote: &str) -> Repository {
        let directory = tempfile::tempdir().unwrap();
        let git = directory.path().join(".git");
        std::fs::create_dir(&git).unwrap();
        std::fs::write(git.join("config"), format!("[remote \"origin\"]\nurl = {remote}\n"))
            .unwrap();
        Repository::read(Path::new(directory.path()), None).unwrap()
    }

    fn choose(
        remote: &str,
        api: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<Server, String> {
        let plan = PublishPlan { api: api.map(str::to_owned), ..PublishPlan::default() };
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        let chosen =
            Server::choose(&plan, &repository(remote), |name| variables.get(name).copied());
        chosen.map_err(|error| error.to_string())
    }

    #[test]
    fn the_server_follows_from_the_remote() {
        let github = ("GITHUB_TOKEN", "t1");
        let gitlab = ("GITLAB_TOKEN", "t2");
        let cases: &[(&str, Option<&str>, &[(&str, &str)], &str, &str)] = &[
            ("git@github.com:a/b.git", None, &[github, gitlab], "https://api.github.com", "a/b"),
            ("https://gitlab.com/a/b/c.git", None, &[gitlab], "https://gitlab.com/api/v4", "a/b/c"),
            (
                "https://git.corp.example/a/b",
                None,
                &[github, ("GITHUB_API_URL", "https://git.corp.example/api/v3")],
                "https://git.corp.example/api/v3",
                "a/b",
            ),
            (
                "https://acme.ghe.com/a/b",
                None,
                &[("GH_TOKEN", "t"), ("GITHUB_API_URL", "https://api.acme.ghe.com")],
                "https://api.acme.ghe.com",
                "a/b",
            ),
            (
                "https://host.example/gitlab/a/b.git",
                None,
                &[("CI_JOB_TOKEN", "t"), ("CI_API_V4_URL", "https://host.example/gitlab/api/v4")],
                "https://host.example/gitlab/api/v4",
                "a/b",
            ),
            (
                "ssh://git@git.corp.example:2222/a/b.git",
                Some("https://git.corp.example/api/v4"),
                &[gitlab],
                "https://git.corp.example/api/v4",
                "a/b",
            ),
        ];
        for (remote, api, variables, expected, project) in cases {
            let server = choose(remote, *api, variables).unwrap();
            assert_eq!((server.api.as_str(), server.project.as_str()), (*expected, *project));
        }
    }

    #[test]
    fn a_token_stays_with_its_server() {
        let all = [
            ("GITHUB_TOKEN", "t1"),
            ("GITLAB_TOKEN", "t2"),
            ("CI_API_V4_URL", "https://gitlab.com/api/v4"),
            ("GITHUB_API_URL", "https://api.github.com"),
        ];
        let cases: &[(&str, Option<&str>, &str)] = &[
            ("https://evil.example/a/b", None, "evil.example is not known"),
            ("https://github.com.evil.example/a/b", None, "is not known"),
            ("https://github.com/a/b", Some("https://evil.example/api/v4"), "is not the API"),
            ("https://github.com/a/b", Some("http://api.github.com"), "is not the API"),
            ("http://github.com/a/b", None, "not encrypted"),
            ("https://github.com/a/b/c", None, "not a project"),
            ("/srv/git/a.git", None, "no remote \"origin\""),
        ];
        for (remote, api, expected) in cases {
            let error = choose(remote, *api, &all).unwrap_err();
            assert!(error.contains(expected), "{remote}: {error}");
        }
        let error = choose("https://github.com/a/b", None, &[]).unwrap_err();
        assert!(error.contains("GITHUB_TOKEN or GH_TOKEN"), "{error}");
        let broken = [("GITHUB_TOKEN", "a\nb: c")];
        let error = choose("https://github.com/a/b", None, &broken).unwrap_err();
        assert!(error.contains("GITHUB_TOKEN") && !error.contains("b: c"), "{error}");
    }

    #[test]
    fn headers_have_the_token_and_debug_texts_do_not() {
        let server = choose("https://github.com/a/b", None, &[("GH_TOKEN", "tok-1")]).unwrap();
        let (key, header) = server.git_header().unwrap();
        assert_eq!(key, "http.https://github.com/.extraHeader");
        assert_eq!(header.expose_secret(), "Authorization: Basic eC1hY2Nlc3MtdG9rZW46dG9rLTE=");
        assert!(server.headers().contains(&("authorization".into(), "Bearer tok-1".into())));
        assert!(!format!("{server:?} {header:?}").contains("tok-1"));
        let variables = [("CI_JOB_TOKEN", "tok-2")];
        let server = choose("https://gitlab.com/a/b", None, &variables).unwrap();
        assert_eq!(server.headers(), [("job-token".to_owned(), "tok-2".to_owned())]);
        let server = choose("git@gitlab.com:a/b", None, &variables).unwrap();
        assert!(server.git_header().is_none());
    }
}
