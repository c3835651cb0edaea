#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "egress/http_head.h"

namespace cloche::egress {

// The head of an HTTP/2 message as a list of fields, those of the message itself (:method, :status)
// before all others. It is held to all rules of HTTP/1.1, and to its own.
using H2Fields = std::vector<Header>;

Result<RequestHead> RequestFromH2(const H2Fields& fields);
Result<ResponseHead> ResponseFromH2(const H2Fields& fields, std::string_view request_method);
Status CheckH2Trailers(const H2Fields& fields);
Status CheckH2RequestTrailers(const H2Fields& fields);

H2Fields H2FieldsOf(const RequestHead& request);  // Host becomes :authority
H2Fields H2FieldsOf(const ResponseHead& response);

}  // namespace cloche::egress
