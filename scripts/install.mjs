/**
 * Runs before every npm script, on whatever Node there is. This file is written so that old ones can read it, too: it says
 * in a sentence that they are too old, instead of failing at something that they do not know.
 */
var version = process.versions.node;

if (parseInt(version, 10) < 20) {
	console.error(
		'Runlet needs Node 20 or newer, and this is Node ' +
			version +
			'. Install one from https://nodejs.org, then run the same command again.',
	);
	process.exit(1);
} else {
	import('./install-packages.mjs').catch((error) => {
		console.error(error);
		process.exit(1);
	});
}
