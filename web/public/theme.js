// Sets the stored theme before the first paint. A file of its own: the policy of the page allows no inline script.
try {
  var stored = localStorage.getItem('reelstate.theme');
  if (stored === 'dark' || stored === 'light') document.documentElement.dataset.theme = stored;
} catch (error) {
  // Storage is blocked: the theme of the system is used.
}
