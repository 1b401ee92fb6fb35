//! A profile of `~/.aws/config` and `~/.aws/credentials`.
//!
//! A profile is first turned into a plan without asking anyone: where the first keys come from, and
//! the roles that are assumed with them one after the other. The plan is then carried out.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::ini::{self, Section};
use super::sso::SsoRole;
use super::sts::{self, Role};
use super::web_identity::Identity;
use super::{container, environment, imds, process};
use crate::aws::AwsKeys;
use crate::cloud::{Presence, Sought, Source, SourceError, Surroundings};

/// The source of profiles.
pub(super) const SOURCE: Source =
    Source { name: "AWS profile", presence, seek: |surroundings| Box::pin(seek(surroundings)) };

fn presence(surroundings: &Surroundings) -> Presence {
    let name = chosen(surroundings);
    let is_named = surroundings.variable("AWS_PROFILE").is_some();
    let profiles = match Profiles::load(surroundings) {
        Ok(profiles) => profiles,
        Err(error) => return Presence::Broken(error.to_string()),
    };
    if !is_named && profiles.get(&name).is_none() {
        return Presence::Absent(format!("there is no profile {name:?}"));
    }
    let named = if is_named { "AWS_PROFILE is" } else { "profile" };
    match profiles.plan(&name) {
        Ok(Some(plan)) => Presence::Configured(format!("{named} {name:?}, {}", plan.description())),
        Ok(None) => Presence::Absent(format!("profile {name:?} has no credentials")),
        Err(error) => Presence::Broken(error.to_string()),
    }
}

async fn seek(surroundings: &Surroundings) -> Result<Sought, SourceError> {
    let name = chosen(surroundings);
    let plan = Profiles::load(surroundings)?
        .plan(&name)?
        .ok_or_else(|| SourceError::new(format!("profile {name:?} has no credentials")))?;
    Ok(super::found(plan.keys(surroundings).await?, surroundings))
}

/// Returns the name of the profile to use.
pub(super) fn chosen(surroundings: &Surroundings) -> String {
    surroundings.variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned())
}

/// The profiles and login sessions of both files.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    profiles: BTreeMap<String, Section>,
    sessions: BTreeMap<String, Section>,
}

impl Profiles {
    /// Reads both files. A setting of the credentials file wins.
    pub(super) fn load(surroundings: &Surroundings) -> Result<Self, SourceError> {
        let read = |variable: &str, default: &str| {
            let named = surroundings.variable(variable).map(|path| surroundings.path(&path));
            match named.or_else(|| surroundings.in_home(default)) {
                Some(path) => surroundings.read_if_exists(&path),
                None => Ok(None),
            }
        };
        let config = read("AWS_CONFIG_FILE", ".aws/config")?;
        let credentials = read("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")?;
        Ok(Self::parse(&config.unwrap_or_default(), &credentials.unwrap_or_default()))
    }

    fn parse(config: &str, credentials: &str) -> Self {
        let mut loaded = Self::default();
        for (name, section) in ini::parse(config) {
            if let Some(session) = name.strip_prefix("sso-session ") {
                loaded.sessions.insert(session.to_owned(), section);
            } else if let Some(profile) = name.strip_prefix("profile ") {
                // `[profile default]` comes after `[default]` in the order of names, and wins.
                loaded.profiles.entry(profile.to_owned()).or_default().extend(section);
            } else if name == "default" {
                loaded.profiles.insert(name, section);
            }
        }
        for (name, section) in ini::parse(credentials) {
            loaded.profiles.entry(name).or_default().extend(section);
        }
        loaded
    }

    pub(super) fn get(&self, name: &str) -> Option<&Section> {
        self.profiles.get(name)
    }

    /// Returns the way to the keys of a profile; `None` if the profile has settings only.
    fn plan(&self, name: &str) -> Result<Option<Plan>, SourceError> {
        let mut roles = Vec::new();
        let mut visited = vec![name.to_owned()];
        let mut name = name.to_owned();
        loop {
            let Some(profile) = self.get(&name) else {
                return Err(self.missing(&name, &visited));
            };
            let is_first = visited.len() == 1;
            let role = role(profile);
            // A role whose source profile is itself is assumed with its own keys.
            let Some(role) = role.filter(|_| is_first || static_keys(profile).is_none()) else {
                return self.finished(&name, profile, roles, is_first);
            };
            if let Some(serial) = profile.get("mfa_serial") {
                return Err(SourceError::new(format!(
                    "profile {name:?} needs a code of the device {serial}, which is not supported; \
                     use temporary keys or `aws sso login`"
                )));
            }
            if let Some(file) = profile.get("web_identity_token_file") {
                let identity = Identity { file: file.clone(), role };
                return Ok(Some(Plan::new(Base::WebIdentity(identity), roles)));
            }
            roles.push(role);
            match (profile.get("source_profile"), profile.get("credential_source")) {
                (Some(source), None) => {
                    let own_keys = *source == name && static_keys(profile).is_some();
                    if visited.contains(source) && !own_keys {
                        visited.push(source.clone());
                        return Err(SourceError::new(format!(
                            "the roles of the profiles {} depend on each other",
                            visited.join(" → ")
                        )));
                    }
                    visited.push(source.clone());
                    name.clone_from(source);
                }
                (None, Some(source)) => {
                    let base = match source.as_str() {
                        "Environment" => Base::Environment,
                        "Ec2InstanceMetadata" => Base::Imds,
                        "EcsContainer" => Base::Container,
                        _ => {
                            return Err(SourceError::new(format!(
                                "profile {name:?}: invalid credential_source {source:?}: expected \
                                 Environment, Ec2InstanceMetadata or EcsContainer"
                            )));
                        }
                    };
                    return Ok(Some(Plan::new(base, roles)));
                }
                _ => {
                    return Err(SourceError::new(format!(
                        "profile {name:?} has a role_arn; it needs source_profile or \
                         credential_source, and not both"
                    )));
                }
            }
        }
    }

    /// Ends a plan with the first keys. A source profile without any is an error.
    fn finished(
        &self,
        name: &str,
        profile: &Section,
        roles: Vec<Role>,
        is_first: bool,
    ) -> Result<Option<Plan>, SourceError> {
        let base = match self.sso_role(name, profile)? {
            Some(role) if static_keys(profile).is_none() => Some(Base::Sso(role)),
            _ => match (static_keys(profile), profile.get("credential_process")) {
                (Some(keys), _) => Some(Base::Static(keys)),
                (None, Some(command)) => {
                    Some(Base::Process { command: command.clone(), profile: name.to_owned() })
                }
                (None, None) => None,
            },
        };
        match base {
            Some(base) => Ok(Some(Plan::new(base, roles))),
            None if profile.contains_key("login_session") => Err(SourceError::new(format!(
                "profile {name:?} is a login with `aws login`, which is not supported; use a profile \
                 with `credential_process = aws configure export-credentials --profile {name} \
                 --format process`"
            ))),
            None if is_first => Ok(None),
            None => Err(SourceError::new(format!(
                "profile {name:?}, which is the source of a role, has no credentials"
            ))),
        }
    }

    /// Returns the role of a profile for IAM Identity Center.
    fn sso_role(&self, name: &str, profile: &Section) -> Result<Option<SsoRole>, SourceError> {
        let session = profile.get("sso_session");
        // Tools that only need a token have a session and no account.
        if session.is_none() && !profile.contains_key("sso_start_url")
            || !profile.contains_key("sso_account_id") && !profile.contains_key("sso_role_name")
        {
            return Ok(None);
        }
        let section = match session {
            None => profile,
            Some(session) => self.sessions.get(session).ok_or_else(|| {
                SourceError::new(format!(
                    "profile {name:?}: there is no section [sso-session {session}]"
                ))
            })?,
        };
        let setting = |section: &Section, key: &str| {
            section
                .get(key)
                .cloned()
                .ok_or_else(|| SourceError::new(format!("profile {name:?} has no {key}")))
        };
        Ok(Some(SsoRole {
            profile: name.to_owned(),
            session: session.cloned(),
            start_url: setting(section, "sso_start_url")?,
            region: setting(section, "sso_region")?,
            account_id: setting(profile, "sso_account_id")?,
            role_name: setting(profile, "sso_role_name")?,
        }))
    }

    fn missing(&self, name: &str, visited: &[String]) -> SourceError {
        let known: Vec<&str> = self.profiles.keys().map(String::as_str).take(20).collect();
        let known = match known.as_slice() {
            [] => "there are no profiles".to_owned(),
            known => format!("the profiles are {}", known.join(", ")),
        };
        let needed_by = match visited {
            [.., before, _] => format!(", the source of profile {before:?},"),
            _ => String::new(),
        };
        SourceError::new(format!("profile {name:?}{needed_by} does not exist; {known}"))
    }
}

/// The way to the keys of a profile.
#[derive(Debug)]
struct Plan {
    base: Base,
    /// The roles, beginning with the one that is assumed first.
    roles: Vec<Role>,
}

/// The place of the first keys.
#[derive(Debug)]
enum Base {
    Static(AwsKeys),
    Environment,
    Container,
    Imds,
    Process { command: String, profile: String },
    Sso(SsoRole),
    WebIdentity(Identity),
}

impl Plan {
    fn new(base: Base, mut roles: Vec<Role>) -> Self {
        roles.reverse();
        Self { base, roles }
    }

    /// Describes the plan for people.
    fn description(&self) -> String {
        let base = match &self.base {
            Base::Static(_) => "with keys".to_owned(),
            Base::Environment => "with keys in the environment".to_owned(),
            Base::Container => "with the keys of the container".to_owned(),
            Base::Imds => "with the keys of the virtual machine".to_owned(),
            Base::Process { .. } => "with credential_process".to_owned(),
            Base::Sso(role) => format!("with the login at {}", role.start_url),
            Base::WebIdentity(identity) => {
                format!("with the token in {} for the role {}", identity.file, identity.role.arn)
            }
        };
        self.roles.iter().fold(base, |text, role| format!("{text}, then the role {}", role.arn))
    }

    async fn keys(self, surroundings: &Surroundings) -> Result<AwsKeys, SourceError> {
        let mut keys = match &self.base {
            Base::Static(keys) => keys.clone(),
            Base::Environment => environment::keys(surroundings)?,
            Base::Container => container::keys(surroundings).await?,
            Base::Imds => imds::keys(surroundings).await?,
            Base::Process { command, profile } => {
                process::keys(surroundings, command, profile).await?
            }
            Base::Sso(role) => role.keys(surroundings).await?,
            Base::WebIdentity(identity) => identity.keys(surroundings).await?,
        };
        for role in &self.roles {
            keys = sts::assume_role(surroundings, keys, role).await?;
        }
        Ok(keys)
    }
}

fn static_keys(profile: &Section) -> Option<AwsKeys> {
    Some(AwsKeys {
        access_key_id: profile.get("aws_access_key_id")?.clone(),
        secret_access_key: SecretString::from(profile.get("aws_secret_access_key")?.clone()),
        session_token: profile.get("aws_session_token").cloned().map(SecretString::from),
        expires: None,
    })
}

fn role(profile: &Section) -> Option<Role> {
    let setting = |name: &str| profile.get(name).cloned();
    Some(Role {
        arn: setting("role_arn")?,
        session_name: setting("role_session_name"),
        external_id: setting("external_id"),
        duration: setting("duration_seconds"),
        region: setting("region"),
    })
}
