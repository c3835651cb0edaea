#include "daemon/registry.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>

#include "sys/fd.h"

namespace cloche::daemon {
namespace {

constexpr int kSchema = 2;  // 1 had no snapshots
constexpr off_t kReserveBytes = 1 << 20;

Error SqlError(sqlite3* db, const char* what) {
  return {Code::kInternal, fmt::format("{}: {}", what, sqlite3_errmsg(db)),
          "check that the state directory is writable and its disk not full"};
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Statement Prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db, sql, -1, &statement, nullptr);
  return Statement(statement);
}

void Bind(const Statement& statement, int index, const std::string& text) {
  sqlite3_bind_text(statement.get(), index, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
}

std::string Text(const Statement& statement, int column) {
  const unsigned char* text = sqlite3_column_text(statement.get(), column);
  return text ? std::string(reinterpret_cast<const char*>(text),
                            static_cast<size_t>(sqlite3_column_bytes(statement.get(), column)))
              : "";
}

// Everybody can traverse our directory, and the registry is about everybody. SQLite gives its other
// files the mode of the first.
Status KeepToOurselves(const std::string& path) {
  using std::filesystem::perms;
  const sys::Fd made(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  for (const std::string& file : {path, path + "-wal", path + "-shm"}) {
    std::error_code error;
    std::filesystem::permissions(file, perms::owner_read | perms::owner_write, error);
    if (error && (error != std::errc::no_such_file_or_directory || file == path))
      return Fail(Code::kUnavailable, fmt::format("open registry {}: {}", file, error.message()),
                  "check its owner and its disk");
  }
  return {};
}

}  // namespace

Status Registry::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return std::unexpected(SqlError(db_, "write registry"));
  return {};
}

Result<std::unique_ptr<Registry>> Registry::Open(const std::string& path) {
  CLOCHE_TRY(KeepToOurselves(path));
  sqlite3* db = nullptr;
  int result = sqlite3_open_v2(
      path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Registry> registry(new Registry(db, path + ".reserve"));
  if (result != SQLITE_OK) return std::unexpected(SqlError(db, "open registry"));
  sqlite3_busy_timeout(db, 2000);
  CLOCHE_TRY(registry->Execute(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-512;"));
  int version = -1;
  if (auto query = Prepare(db, "PRAGMA user_version"); sqlite3_step(query.get()) == SQLITE_ROW)
    version = sqlite3_column_int(query.get(), 0);
  if (version < 0 || version > kSchema)
    return Fail(Code::kUnavailable,
                fmt::format("open registry: {} has schema {}, this cloched knows {}", path, version,
                            kSchema),
                "use the cloche version that wrote it, or move the state directory away");
  CLOCHE_TRY(registry->Execute(
      "CREATE TABLE IF NOT EXISTS sandboxes (id TEXT PRIMARY KEY, name TEXT NOT NULL, "
      "owner INTEGER NOT NULL, state TEXT NOT NULL, record TEXT NOT NULL);"
      "CREATE TABLE IF NOT EXISTS snapshots (id TEXT PRIMARY KEY, sandbox TEXT NOT NULL, "
      "owner INTEGER NOT NULL, record TEXT NOT NULL);"
      "PRAGMA user_version=2;"));
  registry->MakeReserve();
  return registry;
}

Registry::~Registry() { sqlite3_close(db_); }

void Registry::MakeReserve() {
  sys::Fd file(open(reserve_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (file.valid() && posix_fallocate(file.get(), 0, kReserveBytes) != 0) unlink(reserve_.c_str());
}

template <typename Bind>
Status Registry::Write(const char* sql, Bind bind) {
  for (bool again = true;; again = false) {
    auto statement = Prepare(db_, sql);
    if (!statement) return std::unexpected(SqlError(db_, "write registry"));
    bind(statement);
    if (sqlite3_step(statement.get()) == SQLITE_DONE) return {};
    // A transaction has failed as a whole; its caller starts again.
    if (!again || in_transaction_ || unlink(reserve_.c_str()) < 0)
      return std::unexpected(SqlError(db_, "write registry"));
  }
}

Status Registry::Put(const Row& row) {
  return Write(
      "INSERT INTO sandboxes VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT(id) DO UPDATE SET "
      "name = ?2, state = ?4, record = ?5",
      [&](const Statement& statement) {
        Bind(statement, 1, row.id);
        Bind(statement, 2, row.name);
        sqlite3_bind_int64(statement.get(), 3, row.owner);
        Bind(statement, 4, row.state);
        Bind(statement, 5, row.record);
      });
}

Status Registry::Put(const std::vector<Row>& rows, const std::vector<SnapshotRow>& snapshots) {
  for (bool again = true;; again = false) {
    CLOCHE_TRY(Execute("BEGIN"));
    in_transaction_ = true;
    Status status;
    for (const Row& row : rows)
      if (status) status = Put(row);
    for (const SnapshotRow& row : snapshots)
      if (status) status = PutSnapshot(row);
    if (status) status = Execute("COMMIT");
    in_transaction_ = false;
    if (status) return status;
    (void)Execute("ROLLBACK");  // unless SQLite already has
    if (!again || unlink(reserve_.c_str()) < 0) return status;
  }
}

Status Registry::Remove(const std::string& id) {
  return Write("DELETE FROM sandboxes WHERE id = ?1",
               [&](const Statement& statement) { Bind(statement, 1, id); });
}

Result<std::vector<Registry::Row>> Registry::All() {
  auto statement =
      Prepare(db_, "SELECT id, name, owner, state, record FROM sandboxes ORDER BY rowid");
  if (!statement) return std::unexpected(SqlError(db_, "read registry"));
  std::vector<Row> rows;
  int step;
  while ((step = sqlite3_step(statement.get())) == SQLITE_ROW)
    rows.push_back({Text(statement, 0), Text(statement, 1),
                    static_cast<uint32_t>(sqlite3_column_int64(statement.get(), 2)),
                    Text(statement, 3), Text(statement, 4)});
  // Otherwise half of a damaged registry would pass for all of it.
  if (step != SQLITE_DONE) return std::unexpected(SqlError(db_, "read registry"));
  return rows;
}

Status Registry::PutSnapshot(const SnapshotRow& row) {
  return Write(
      "INSERT INTO snapshots VALUES (?1, ?2, ?3, ?4) ON CONFLICT(id) DO UPDATE SET record = ?4",
      [&](const Statement& statement) {
        Bind(statement, 1, row.id);
        Bind(statement, 2, row.sandbox);
        sqlite3_bind_int64(statement.get(), 3, row.owner);
        Bind(statement, 4, row.record);
      });
}

Status Registry::RemoveSnapshot(const std::string& id) {
  return Write("DELETE FROM snapshots WHERE id = ?1",
               [&](const Statement& statement) { Bind(statement, 1, id); });
}

Result<std::vector<Registry::SnapshotRow>> Registry::AllSnapshots() {
  auto statement = Prepare(db_, "SELECT id, sandbox, owner, record FROM snapshots ORDER BY rowid");
  if (!statement) return std::unexpected(SqlError(db_, "read registry"));
  std::vector<SnapshotRow> rows;
  int step;
  while ((step = sqlite3_step(statement.get())) == SQLITE_ROW)
    rows.push_back({Text(statement, 0), Text(statement, 1),
                    static_cast<uint32_t>(sqlite3_column_int64(statement.get(), 2)),
                    Text(statement, 3)});
  if (step != SQLITE_DONE) return std::unexpected(SqlError(db_, "read registry"));
  return rows;
}

}  // namespace cloche::daemon
