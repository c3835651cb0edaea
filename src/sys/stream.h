#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sys/fd.h"

namespace cloche::sys {

int MakePipe(Fd& read_end, Fd& write_end);
int SetNonBlocking(int fd);
long ReadSome(int fd, void* data, size_t size);  // bytes, 0 at the end, -errno
bool ReadableNow(int fd);
void Rewind(int fd);
void EndSending(int socket);  // the other side reads end of file; we still receive
int SetWindowSize(int terminal, uint16_t rows, uint16_t columns);

bool ExitedNormally(int wait_status);
int ExitCode(int wait_status);
int TermSignal(int wait_status);

}  // namespace cloche::sys
