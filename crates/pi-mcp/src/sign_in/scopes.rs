//! The scopes of a sign-in.

/// The scope with which a server issues a token for renewals.
const OFFLINE: &str = "offline_access";

/// Sources of the scopes of a sign-in.
#[derive(Debug, Default)]
pub(super) struct Sources<'a> {
    /// The user's settings.
    pub(super) configured: &'a [String],
    /// The refusal of the MCP server.
    pub(super) challenged: &'a [String],
    /// The metadata of the MCP server.
    pub(super) resource: &'a [String],
    /// Scopes of the tokens that the server found insufficient.
    pub(super) granted: &'a [String],
    /// The metadata of the authorization server.
    pub(super) authorization_server: Option<&'a [String]>,
}

impl Sources<'_> {
    /// Returns the scopes to request; none leaves the choice to the server.
    ///
    /// A refusal names what the request needs, so it wins over the metadata, which names all there
    /// is. Scopes that were granted are requested again: a refusal may name only the missing ones.
    pub(super) fn requested(&self) -> Vec<String> {
        let mut scopes = Vec::new();
        let fallback = self.challenged.is_empty() && self.configured.is_empty();
        let lists = [
            self.configured,
            self.granted,
            self.challenged,
            if fallback { self.resource } else { &[] },
        ];
        for scope in lists.into_iter().flatten() {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        let offers_offline =
            self.authorization_server.is_some_and(|all| all.iter().any(|one| one == OFFLINE));
        if offers_offline && !scopes.is_empty() && !scopes.iter().any(|one| one == OFFLINE) {
            scopes.push(OFFLINE.to_owned());
        }
        scopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_wins_over_metadata_and_scopes_are_merged() {
        let list =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for (configured, challenged, resource, granted, server, expected) in [
            ("", "", "", "", "offline_access", ""),
            ("", "", "a b", "", "", "a b"),
            ("", "c", "a b", "", "", "c"),
            ("x", "", "a b", "", "", "x"),
            ("x", "c", "a b", "", "", "x c"),
            ("", "b", "", "a b", "", "a b"),
            ("", "", "a", "", "a offline_access", "a offline_access"),
            ("", "offline_access a", "", "", "offline_access", "offline_access a"),
        ] {
            let lists = [configured, challenged, resource, granted, server].map(list);
            let sources = Sources {
                configured: &lists[0],
                challenged: &lists[1],
                resource: &lists[2],
                granted: &lists[3],
                authorization_server: Some(&lists[4]),
            };
            assert_eq!(sources.requested(), list(expected), "{sources:?}");
        }
    }
}
