/**
 * Runs before every npm script, on any Node. Old versions must be able to parse this file: it tells them that they are too
 * old.
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
