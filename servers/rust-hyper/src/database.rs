//! The workloads options and rows: one query each. The pool connects when it is first asked, not before.

use std::env;

use mysql_async::prelude::Queryable;
use mysql_async::{OptsBuilder, Pool, PoolConstraints, PoolOpts};
use serde::Serialize;

use crate::AnyError;
use crate::failure::Failure;

const OPTIONS: &str = "SELECT option_id, option_name, option_value, autoload FROM wp_options \
                       ORDER BY option_id LIMIT 50";
const BOOKS: &str = "SELECT id, title, author, year, pages FROM books ORDER BY id LIMIT 10";

#[derive(Serialize)]
pub struct SiteOption {
    option_id: u64,
    option_name: String,
    option_value: String,
    autoload: String,
}

#[derive(Serialize)]
pub struct Book {
    id: u32,
    title: String,
    author: String,
    year: u32,
    pages: u32,
}

pub struct Database {
    pool: Pool,
}

impl Database {
    pub fn from_environment(connections: usize) -> Result<Self, AnyError> {
        let said = |name| env::var(name).ok();
        let port = said("DB_PORT").map_or(Ok(0), |port| port.parse())?;
        let constraints =
            PoolConstraints::new(connections, connections).ok_or("POOL must be at least 1")?;
        let pool = PoolOpts::default()
            .with_constraints(constraints)
            // It would ask the database to forget a connection's state after every query, and no query leaves any.
            .with_reset_connection(false);
        let options = OptsBuilder::default()
            .ip_or_hostname(said("DB_HOST").unwrap_or_default())
            .tcp_port(port)
            .user(said("DB_USER"))
            .pass(said("DB_PASSWORD"))
            .db_name(said("DB_NAME"))
            // On loopback it would change over to a Unix socket, and no other server here does.
            .prefer_socket(false)
            .pool_opts(pool);
        Ok(Self {
            pool: Pool::new(options),
        })
    }

    pub async fn options(&self) -> Result<Vec<SiteOption>, Failure> {
        let mut connection = self.pool.get_conn().await?;
        let options = connection
            .query_map(
                OPTIONS,
                |(option_id, option_name, option_value, autoload)| SiteOption {
                    option_id,
                    option_name,
                    option_value,
                    autoload,
                },
            )
            .await?;
        Ok(options)
    }

    pub async fn books(&self) -> Result<Vec<Book>, Failure> {
        let mut connection = self.pool.get_conn().await?;
        let books = connection
            .query_map(BOOKS, |(id, title, author, year, pages)| Book {
                id,
                title,
                author,
                year,
                pages,
            })
            .await?;
        Ok(books)
    }
}
