#include "daemon/command_list.h"

#include <iterator>

namespace cloche::daemon {
namespace {

constexpr size_t kMostRemembered = 200;

bool IsService(const CommandRun& command) { return !command.request().service.empty(); }

}  // namespace

std::shared_ptr<CommandRun> CommandList::Find(uint32_t number) const {
  const auto found = commands_.find(number);
  return found == commands_.end() ? nullptr : found->second;
}

std::shared_ptr<CommandRun> CommandList::Find(const std::string& number) const {
  for (const auto& [key, command] : commands_)
    if (std::to_string(key) == number) return command;
  return nullptr;
}

size_t CommandList::running() const {
  size_t count = 0;
  for (const auto& [number, command] : commands_)
    count += command->ended() || IsService(*command) ? 0 : 1;
  return count;
}

void CommandList::Add(std::shared_ptr<CommandRun> command) {
  if (!IsService(*command)) {
    ++started_;
    NoteActivity();
  }
  commands_[command->number()] = std::move(command);
  for (auto it = commands_.begin(); commands_.size() > kMostRemembered && it != commands_.end();)
    it = it->second->ended() ? commands_.erase(it) : std::next(it);
}

void CommandList::Tell(const Json& notice) const {
  for (const auto& [number, command] : commands_)
    if (!command->ended()) command->Tell(FrameType::kNotice, notice);
}

void CommandList::Lose(const std::string& why) {
  for (const auto& [number, command] : commands_) command->Lost(why);
  NoteActivity();
}

}  // namespace cloche::daemon
