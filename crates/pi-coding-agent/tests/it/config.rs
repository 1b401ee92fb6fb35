//! The files of the user.

mod both;
mod commands;
mod credentials;
mod files;
mod observed;
mod place;
mod schemas;
mod settings;
mod trust;
