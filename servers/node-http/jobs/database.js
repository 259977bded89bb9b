// The workloads options and rows: one query each. The pool connects when it is first asked, not before.

const { DB_HOST, DB_PORT, DB_USER, DB_PASSWORD, DB_NAME, DB_POOL } =
  process.env;

// Where no database is given, the driver would ask whatever listens at its default port; and it would take memory.
const pool = DB_HOST ? await newPool() : undefined;

export const optionRows = () =>
  rowsOf(
    "SELECT option_id, option_name, option_value, autoload FROM wp_options ORDER BY option_id LIMIT 50",
  );

export const bookRows = () =>
  rowsOf(
    "SELECT id, title, author, year, pages FROM books ORDER BY id LIMIT 10",
  );

async function rowsOf(query) {
  if (pool === undefined) {
    throw new Error("there is no database: DB_HOST is not set");
  }
  const [rows] = await pool.query(query);
  return rows;
}

async function newPool() {
  const { createPool } = await import("mysql2/promise");
  return createPool({
    host: DB_HOST,
    port: DB_PORT,
    user: DB_USER,
    password: DB_PASSWORD,
    database: DB_NAME,
    connectionLimit: Number(DB_POOL),
  });
}
