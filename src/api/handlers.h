#pragma once

#include "api/routes.h"

// One file per resource; routes.cc says which request each function answers.
namespace cloche::api {

Task<Response> ShowStatus(Call& call);
Task<Response> ShowDoctor(Call& call);
Task<Response> Explain(Call& call);
Task<Response> ShowReality(Call& call);
Task<Response> FlattenStates(Call& call);

// sandboxes.cc
Task<Response> ListSandboxes(Call& call);
Task<Response> CreateSandbox(Call& call);
Task<Response> ShowSandbox(Call& call);
Task<Response> RenameSandbox(Call& call);
Task<Response> RemoveSandbox(Call& call);
Task<Response> StartSandbox(Call& call);
Task<Response> StopSandbox(Call& call);
Task<Response> ShowUsage(Call& call);
Task<Response> ShowStaleness(Call& call);
Task<Response> RefreshSandbox(Call& call);
Task<Response> ShowProjectFile(Call& call);
Task<Response> PinProjectFile(Call& call);

// commands.cc
Task<Response> ListCommands(Call& call);
Task<Response> RunCommand(Call& call);
Task<Response> ShowCommand(Call& call);
Task<Response> ReadOutput(Call& call);
Task<Response> SignalCommand(Call& call);
Response OutputResponse(daemon::CommandRun& command, const Request& request);

// snapshots.cc
Task<Response> ListSnapshots(Call& call);
Task<Response> TakeSnapshot(Call& call);
Task<Response> RollBack(Call& call);
Task<Response> ForkSandbox(Call& call);
Task<Response> ShowSnapshot(Call& call);
Task<Response> RenameSnapshot(Call& call);
Task<Response> RemoveSnapshot(Call& call);
Task<Response> ForkSnapshot(Call& call);

// changes.cc
Task<std::optional<Response>> ReadChanges(Call& call);
Task<std::optional<Response>> Promote(Call& call);

// services.cc
Task<Response> ListServices(Call& call);
Task<Response> AddServices(Call& call);
Task<Response> RestartService(Call& call);
Task<Response> ReadServiceOutput(Call& call);

// network.cc
Task<Response> ShowNetwork(Call& call);
Task<Response> ChangeNetwork(Call& call);
// With follow=1 until the client goes or the sandbox is removed.
Task<std::optional<Response>> ReadNetworkLog(Call& call);

// signing.cc
Task<Response> ShowSigning(Call& call);
Task<Response> ChangeSigning(Call& call);

// secrets.cc
Task<Response> ListSecrets(Call& call);
Task<Response> ShowSecret(Call& call);
Task<Response> SetSecret(Call& call);
Task<Response> RotateSecret(Call& call);
Task<Response> RemoveSecret(Call& call);

// ports.cc: the connection becomes one to a port of the sandbox.
Task<Result<sys::Fd>> OpenPort(Call& call);
Task<void> RelayPort(asio::io_context& io, sys::Fd inside, Socket socket, std::string received);

}  // namespace cloche::api
