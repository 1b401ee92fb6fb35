//! The configuration of registries: `.npmrc` files and `npm_config_*` variables. Pure.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_base::text::without_mark;

/// The registry of npm, which is used unless another one is configured.
const DEFAULT: &str = "https://registry.npmjs.org/";

/// Registries and their credentials.
#[derive(Clone, Default)]
pub struct RegistryConfig {
    values: BTreeMap<String, String>,
}

impl RegistryConfig {
    /// Adds the content of an `.npmrc`. Values of later files take precedence. `${NAME}` is replaced
    /// by a variable; a value with an unknown variable stays as it is, as in npm.
    pub fn add_file(&mut self, text: &str, env: impl Fn(&str) -> Option<String>) {
        for line in without_mark(text).lines() {
            let line = line.trim();
            if line.starts_with(['#', ';', '[']) {
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = value.trim();
            let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            let value = expand(quoted.unwrap_or(value), &env);
            self.values.insert(expand(key.trim(), &env), value);
        }
    }

    /// Adds the variables `npm_config_registry` and `npm_config_@scope:registry`, which take
    /// precedence over files.
    pub fn add_variables<'v>(&mut self, variables: impl Iterator<Item = (&'v str, &'v str)>) {
        for (name, value) in variables {
            let Some((prefix, key)) = name.split_at_checked("npm_config_".len()) else { continue };
            if prefix.eq_ignore_ascii_case("npm_config_") && !value.is_empty() {
                let is_registry = key.eq_ignore_ascii_case("registry");
                let key = if is_registry { "registry" } else { key };
                if is_registry || key.ends_with(":registry") || key.starts_with("//") {
                    self.values.insert(key.to_owned(), value.to_owned());
                }
            }
        }
    }

    /// Returns the URL of the registry of a package, with a slash at the end.
    pub fn registry(&self, package: &str) -> String {
        let scope = package.split_once('/').map(|(scope, _)| scope);
        let scoped = scope.and_then(|scope| self.values.get(&format!("{scope}:registry")));
        let url = scoped.or_else(|| self.values.get("registry"));
        let url = url.map(|url| url.trim()).filter(|url| !url.is_empty()).unwrap_or(DEFAULT);
        if url.ends_with('/') { url.to_owned() } else { format!("{url}/") }
    }

    /// Returns the address of an archive. Archives of npm's registry are taken from the configured
    /// one, which may be a mirror.
    pub fn archive_url(&self, package: &str, url: &str) -> String {
        let registry = self.registry(package);
        match url.strip_prefix(DEFAULT) {
            Some(path) if registry != DEFAULT => format!("{registry}{path}"),
            _ => url.to_owned(),
        }
    }

    /// Returns the value of the header `authorization` for a URL: that of the longest configured
    /// prefix.
    pub fn authorization(&self, url: &str) -> Option<String> {
        let (_, address) = url.split_once(':')?;
        // A user or a password in the URL must not lead to the credentials of another host.
        let host = address.trim_start_matches('/').split('/').next()?;
        if host.contains('@') {
            return None;
        }
        let mut prefix = address.split(['?', '#']).next().unwrap_or(address);
        loop {
            let key = |name: &str| {
                let bare = prefix.trim_end_matches('/');
                let with_slash = self.values.get(&format!("{bare}/:{name}"));
                with_slash.or_else(|| self.values.get(&format!("{bare}:{name}")))
            };
            if let Some(token) = key("_authToken").filter(|token| !token.is_empty()) {
                return Some(format!("Bearer {token}"));
            }
            if let Some(encoded) = key("_auth") {
                return Some(format!("Basic {encoded}"));
            }
            if let (Some(name), Some(password)) = (key("username"), key("_password")) {
                let password = STANDARD.decode(password).ok()?;
                let password = String::from_utf8_lossy(&password);
                return Some(format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))));
            }
            prefix = prefix.trim_end_matches('/');
            prefix = &prefix[..prefix.rfind('/').filter(|at| *at > 1)?];
        }
    }
}

/// The values may be tokens.
impl std::fmt::Debug for RegistryConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryConfig").field("keys", &self.values.len()).finish()
    }
}

/// Replaces `${NAME}`.
fn expand(text: &str, env: &impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, tail)) = after.split_once('}') else { break };
        expanded.push_str(before);
        match env(name) {
            Some(value) => expanded.push_str(&value),
            None => expanded.push_str(&format!("${{{name}}}")),
        }
        rest = tail;
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> RegistryConfig {
        let mut config = RegistryConfig::default();
        config.add_file(text, |name| (name == "TOKEN").then(|| "t0k".to_owned()));
        config
    }

    #[test]
    fn the_registry_depends_on_the_scope() {
        let mut config = config(
            "# comment\nregistry = https://r.example/npm\n@me:registry=\"http://me.example/\"\n",
        );
        assert_eq!(config.registry("plain"), "https://r.example/npm/");
        assert_eq!(config.registry("@me/pk"), "http://me.example/");
        assert_eq!(config.registry("@other/pk"), "https://r.example/npm/");
        assert_eq!(RegistryConfig::default().registry("plain"), DEFAULT);
        let variables = [("NPM_CONFIG_REGISTRY", "http://env.example"), ("npm_config_x", "y")];
        config.add_variables(variables.into_iter());
        assert_eq!(config.registry("plain"), "http://env.example/");
        let archive = config.archive_url("a", "https://registry.npmjs.org/a/-/a-1.0.0.tgz");
        assert_eq!(archive, "http://env.example/a/-/a-1.0.0.tgz");
        assert_eq!(
            config.archive_url("a", "https://else.example/a.tgz"),
            "https://else.example/a.tgz"
        );
    }

    #[test]
    fn credentials_belong_to_an_address() {
        let config = config(
            "//r.example/npm/:_authToken=${TOKEN}\n//basic.example/:_auth=dXNlcjpwdw==\n\
             //user.example:8080/:username=me\n//user.example:8080/:_password=cHc=\n\
             //unset.example/:_authToken=${MISSING}\n//bare.example:_authToken=b\n",
        );
        let basic = Some("Basic bWU6cHc=");
        for (url, expected) in [
            ("https://r.example/npm/plain", Some("Bearer t0k")),
            ("https://r.example/npm/@me%2fpk/-/x.tgz?x=/y", Some("Bearer t0k")),
            ("https://r.example/other", None),
            ("https://r.example.evil/npm/plain", None),
            ("https://r.example@evil/npm/plain", None),
            ("https://evil/r.example/npm/", None),
            ("http://basic.example/a/b/c", Some("Basic dXNlcjpwdw==")),
            ("http://user.example:8080/x", basic),
            ("http://user.example/x", None),
            ("https://unset.example/x", Some("Bearer ${MISSING}")),
            ("https://bare.example/x", Some("Bearer b")),
        ] {
            assert_eq!(config.authorization(url).as_deref(), expected, "{url}");
        }
    }
}
