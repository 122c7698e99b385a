// A view that fails leaves the frame standing, and says what happened.

import { Component, type ReactNode } from "react";

export class Boundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state = { error: undefined as Error | undefined };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="view" tabIndex={0}>
        <div className="trouble" role="alert">
          <span>This view cannot be shown: {error.message}</span>
          <button type="button" className="button small" onClick={() => location.reload()}>
            Load it again
          </button>
        </div>
      </div>
    );
  }
}
