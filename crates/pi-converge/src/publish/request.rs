//! The requests to the API of a server, and the parts of its answers that matter. Pure.

use pi_base::text;
use serde_json::{Value, json};

use super::server::{Server, ServerKind};

/// Characters of a message of the server.
const MESSAGE: usize = 400;

/// A request to the API.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApiRequest {
    /// The purpose, for errors: `find the pull request`.
    pub(super) purpose: &'static str,
    pub(super) method: &'static str,
    pub(super) url: String,
    pub(super) body: Option<Value>,
}

/// The content of a new pull request.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewPullRequest<'a> {
    pub(super) title: &'a str,
    pub(super) body: &'a str,
    pub(super) branch: &'a str,
    pub(super) base: &'a str,
    pub(super) draft: bool,
    pub(super) labels: &'a [String],
}

/// A pull request of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PullRequest {
    pub(super) number: u64,
    /// Address of its page.
    pub(super) url: String,
}

impl Server {
    fn request(&self, purpose: &'static str, path: &str) -> ApiRequest {
        let project = match self.kind {
            ServerKind::GitHub => format!("/repos/{}", self.project),
            ServerKind::GitLab => format!("/projects/{}", encoded(&self.project)),
        };
        let url = format!("{}{project}{path}", self.api);
        ApiRequest { purpose, method: "GET", url, body: None }
    }

    /// Asks for the project.
    pub(super) fn project_request(&self) -> ApiRequest {
        self.request("find the default branch", "")
    }

    /// Asks for the commits of `commit` that the branch `base` does not have.
    pub(super) fn compare_request(&self, base: &str, commit: &str) -> ApiRequest {
        let path = match self.kind {
            ServerKind::GitHub => format!("/compare/{}...{commit}?per_page=1", encoded(base)),
            ServerKind::GitLab => {
                format!("/repository/compare?from={}&to={commit}", encoded(base))
            }
        };
        self.request("compare the commit of the run with the base branch", &path)
    }

    /// Returns true if the answer to [`Server::compare_request`] names no such commit.
    pub(super) fn is_contained(&self, answer: &Value) -> bool {
        match self.kind {
            ServerKind::GitHub => answer["ahead_by"] == 0,
            ServerKind::GitLab => answer["commits"].as_array().is_some_and(Vec::is_empty),
        }
    }

    /// Asks for the open pull requests of a branch.
    pub(super) fn find_request(&self, branch: &str) -> ApiRequest {
        let path = match self.kind {
            ServerKind::GitHub => {
                let owner = self.project.split('/').next().unwrap_or_default();
                format!("/pulls?state=open&head={}", encoded(&format!("{owner}:{branch}")))
            }
            ServerKind::GitLab => {
                format!("/merge_requests?state=opened&source_branch={}", encoded(branch))
            }
        };
        self.request("find the pull request", &path)
    }

    /// Returns the pull request of a branch in the answer to [`Server::find_request`].
    pub(super) fn found(&self, answer: &Value, branch: &str) -> Option<PullRequest> {
        // A server that ignores the filter lists the pull requests of others.
        let is_ours = |one: &&Value| match self.kind {
            ServerKind::GitHub => one["head"]["ref"] == branch,
            ServerKind::GitLab => one["source_branch"] == branch,
        };
        self.pull_request(answer.as_array()?.iter().find(is_ours)?)
    }

    /// Creates a pull request.
    pub(super) fn create_request(&self, new: &NewPullRequest<'_>) -> ApiRequest {
        let NewPullRequest { title, body, branch, base, draft, labels } = *new;
        let (path, body) = match self.kind {
            ServerKind::GitHub => (
                "/pulls",
                json!({ "title": title, "body": body, "head": branch, "base": base,
                    "draft": draft }),
            ),
            ServerKind::GitLab => {
                let title = if draft { format!("Draft: {title}") } else { title.to_owned() };
                let request = json!({ "title": title, "description": body,
                    "source_branch": branch, "target_branch": base, "labels": labels.join(",") });
                ("/merge_requests", request)
            }
        };
        let request = self.request("create the pull request", path);
        ApiRequest { method: "POST", body: Some(body), ..request }
    }

    /// Adds labels, if the server does not take them with the pull request.
    pub(super) fn label_request(&self, number: u64, labels: &[String]) -> Option<ApiRequest> {
        if self.kind == ServerKind::GitLab || labels.is_empty() {
            return None;
        }
        let request = self.request("set the labels", &format!("/issues/{number}/labels"));
        Some(ApiRequest { method: "POST", body: Some(json!({ "labels": labels })), ..request })
    }

    /// Reads a pull request of an answer.
    pub(super) fn pull_request(&self, answer: &Value) -> Option<PullRequest> {
        let (number, url) = match self.kind {
            ServerKind::GitHub => ("number", "html_url"),
            ServerKind::GitLab => ("iid", "web_url"),
        };
        let url = text::line(answer[url].as_str()?, MESSAGE);
        Some(PullRequest { number: answer[number].as_u64()?, url })
    }
}

/// Returns the message of a failed answer, as one line.
pub(super) fn message(answer: &Value) -> String {
    let words = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let errors = answer["errors"].as_array().into_iter().flatten();
    let errors = errors.filter_map(|error| words(error.get("message").unwrap_or(error)));
    let first = words(&answer["message"]).or_else(|| words(&answer["error"]));
    let parts: Vec<String> = first.into_iter().chain(errors).collect();
    text::line(&parts.join("; "), MESSAGE)
}

/// Encodes a part of a URL.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_servers_become_one_line() {
        let cases = [
            (
                json!({"message": "Validation Failed", "errors": [{"message": "No commits"}, "x"]}),
                "Validation Failed; No commits; x",
            ),
            (
                json!({"message": ["Another open\nmerge request"]}),
                "[\"Another open\\nmerge request\"]",
            ),
            (json!({"error": "insufficient_scope\u{1b}[31m"}), "insufficient_scope[31m"),
            (json!([]), ""),
        ];
        for (answer, expected) in cases {
            assert_eq!(message(&answer), expected);
        }
        assert_eq!(encoded("a/b ü"), "a%2Fb%20%C3%BC");
    }
}
