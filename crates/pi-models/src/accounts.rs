//! Accounts: several credentials of one provider, of which a run uses one.
//!
//! `auth.json` has an entry per credential: `openai` is the default account, `openai@work` the
//! account `work`. The command line chooses before the settings; without a choice the default
//! account applies. A chosen account is never replaced by another one or by the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The name that stands for the default account.
const DEFAULT: &str = "default";

/// The name of a credential: a provider, and an account if it is not the default one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct CredentialName {
    /// Id of the provider.
    pub provider: String,
    /// Name of the account; `None` for the default account.
    pub account: Option<String>,
}

/// A text that does not name an account.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid account \"{0}\": expected PROVIDER@NAME, with a name of letters, digits, dots, hyphens and underscores"
)]
pub struct InvalidAccount(pub String);

impl CredentialName {
    /// Returns the name of a provider's default credential.
    pub fn new(provider: impl Into<String>) -> Self {
        Self { provider: provider.into(), account: None }
    }

    /// Returns the name of the credential of an account; `default` is the default one.
    pub fn of_account(provider: impl Into<String>, account: &str) -> Result<Self, InvalidAccount> {
        let provider = provider.into();
        if !is_account(account) || provider.is_empty() {
            return Err(InvalidAccount(format!("{provider}@{account}")));
        }
        let account = (account != DEFAULT).then(|| account.to_owned());
        Ok(Self { provider, account })
    }
}

impl FromStr for CredentialName {
    type Err = InvalidAccount;

    /// Reads `PROVIDER@NAME`.
    fn from_str(text: &str) -> Result<Self, InvalidAccount> {
        match text.rsplit_once('@') {
            Some((provider, account)) => {
                Self::of_account(provider, account).map_err(|_| InvalidAccount(text.to_owned()))
            }
            None => Err(InvalidAccount(text.to_owned())),
        }
    }
}

/// Shows the key of the entry in `auth.json`.
impl fmt::Display for CredentialName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.account {
            Some(account) => write!(f, "{}@{account}", self.provider),
            None => f.write_str(&self.provider),
        }
    }
}

fn is_account(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    (1..=64).contains(&name.len()) && name.chars().all(allowed)
}

/// The accounts that were chosen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts {
    /// Accounts of the settings, by provider.
    pub(crate) configured: BTreeMap<String, String>,
    /// Accounts of the command line.
    pub(crate) given: BTreeMap<String, CredentialName>,
}

impl Accounts {
    /// Returns the credential that a provider's requests use.
    pub(crate) fn name(&self, provider: &str) -> Result<CredentialName, InvalidAccount> {
        if let Some(name) = self.given.get(provider) {
            return Ok(name.clone());
        }
        match self.configured.get(provider) {
            Some(account) => CredentialName::of_account(provider, account),
            None => Ok(CredentialName::new(provider)),
        }
    }
}

/// Splits `openai@work/gpt` into the model without the account, and the name of the credential.
/// `None` if the text names no account.
pub(crate) fn split_account(model: &str) -> Option<(String, CredentialName)> {
    let (head, rest) = model.split_once('/')?;
    let name: CredentialName = head.parse().ok()?;
    Some((format!("{}/{rest}", name.provider), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_named_after_the_provider() {
        for (text, provider, account) in [
            ("openai@work", "openai", Some("work")),
            ("openai@default", "openai", None),
            ("a@b@c.d-e_1", "a@b", Some("c.d-e_1")),
        ] {
            let name: CredentialName = text.parse().unwrap();
            assert_eq!((name.provider.as_str(), name.account.as_deref()), (provider, account));
        }
        for text in ["", "openai", "@work", "openai@", "openai@a b", "openai@a/b", "openai@é"] {
            assert_eq!(text.parse::<CredentialName>(), Err(InvalidAccount(text.to_owned())));
        }
        assert_eq!(CredentialName::of_account("p", "x").unwrap().to_string(), "p@x");
        assert_eq!(CredentialName::of_account("p", "default").unwrap().to_string(), "p");
    }

    #[test]
    fn models_may_name_an_account() {
        let (model, name) = split_account("openai@work/gpt-5:high").unwrap();
        assert_eq!(
            (model.as_str(), name.to_string().as_str()),
            ("openai/gpt-5:high", "openai@work")
        );
        for text in ["openai/gpt-5", "claude@2025", "cloudflare/@cf/meta/llama", "@cf/meta"] {
            assert_eq!(split_account(text), None, "{text}");
        }
    }
}
