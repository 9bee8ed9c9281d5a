/** A tab with one word: where one goes to when another one is left. */
export default {
  render(host) {
    host.element.textContent = "blank";
  },
};
