/** A tab with one word, which is opened to close the tab of the plugin under test. */
export default {
  render(host) {
    host.element.textContent = "blank";
  },
};
