//! The credentials of a call: where they come from, and how they become part of it.

use std::sync::Arc;

#[cfg(feature = "cloud")]
use pi_web::cloud::{CloudCache, CloudError, Surroundings};
use pi_web::{Authorization, Variables};
use secrecy::ExposeSecret;

use super::{AuthorizationRequest, Authorize, Env};
use crate::credentials;
use crate::wire::Call;

/// The credentials of a call.
pub(super) enum Credentials {
    Known(Box<Authorization>),
    /// The caller of this library supplies them.
    Awaited(Arc<Authorize>),
    /// The machine may have some.
    #[cfg(feature = "cloud")]
    Cloud {
        cache: CloudCache,
        env: Env,
        web: pi_web::WebClient,
    },
}

impl Credentials {
    /// Returns the credentials. `rejected` are those that the provider rejected before.
    pub(super) async fn get(
        &self,
        call: &Call,
        rejected: Option<Authorization>,
    ) -> Result<Authorization, String> {
        match self {
            Self::Known(authorization) => Ok((**authorization).clone()),
            Self::Awaited(authorize) => {
                let (model, env) = (Arc::clone(&call.model), call.options.env.clone());
                let request = AuthorizationRequest { model, env, rejected };
                authorize(request).await.map_err(|error| error.to_string())
            }
            #[cfg(feature = "cloud")]
            Self::Cloud { cache, env, web } => {
                let surroundings = surroundings(call, env, web);
                let provider = &call.model.provider;
                match cache.find(provider, &surroundings, rejected.as_ref()).await {
                    Ok(found) => Ok(found.authorization()),
                    // The format has a better error: it names the variables of keys, too.
                    Err(CloudError::NotConfigured { .. }) => Ok(Authorization::default()),
                    Err(error) => Err(error.to_string()),
                }
            }
        }
    }
}

#[cfg(feature = "cloud")]
fn surroundings(call: &Call, env: &Env, web: &pi_web::WebClient) -> Surroundings {
    let lookup = Arc::clone(env);
    let variables =
        Variables::new(move |name| lookup(name)).overridden_by(call.options.env.clone());
    let home = variables.get("HOME").or_else(|| variables.get("USERPROFILE"));
    let mut surroundings = Surroundings::new(variables, web.clone());
    surroundings.home = home.map(std::path::PathBuf::from);
    surroundings.base_url = Some(call.model.base_url.clone()).filter(|url| !url.is_empty());
    surroundings
}

/// Adds the credentials to a call: key, headers and final base URL.
pub(super) fn authorized(
    mut call: Call,
    authorization: Authorization,
    env: &Env,
) -> Result<Call, String> {
    let env = Arc::clone(env);
    let variables = Variables::new(move |name| env(name))
        .overridden_by(authorization.env)
        .overridden_by(call.options.env.clone());
    let mut model = (*call.model).clone();
    if let Some(url) = authorization.base_url {
        model.base_url = url;
    }
    model = credentials::resolve_base_url(model, &|name| variables.get(name))?;
    model.headers.extend(authorization.headers);
    let key = authorization.key.filter(|key| !key.expose_secret().is_empty());
    call.api_key = credentials::apply(&mut model, &call.options, key);
    call.key_scheme = authorization.scheme;
    call.aws = authorization.aws;
    call.variables = variables;
    call.model = Arc::new(model);
    Ok(call)
}
