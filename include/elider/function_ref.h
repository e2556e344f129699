// FunctionRef: a non-owning reference to a callable. It has the size of two pointers, and does not
// allocate memory. A FunctionRef must not outlive its callable, so use it for parameters and do not
// store it. Thread safety: that of the callable.
#pragma once

#include "elider/language.h"

#include <memory>
#include <type_traits>
#include <utility>

namespace elider {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& callable)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace elider
