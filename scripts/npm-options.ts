/**
 * Throws where an option stands in front of npm's `--`: npm takes it for one of its own, and says nothing.
 *
 * @param names of the options that the script has, without their hyphens
 */
export function assertNotTakenByNpm(names: readonly string[]): void {
	// Some of npm's own are set to nothing.
	const lost = names.find((name) => (process.env[`npm_config_${name.replaceAll('-', '_')}`] ?? '') !== '');
	if (lost === undefined) return;
	const script = process.env.npm_lifecycle_event ?? 'start';
	const command = script === 'start' ? 'npm start' : `npm run ${script}`;
	throw new TypeError(
		`--${lost}: npm took this option for itself. Put -- in front of all options: ${command} -- … --${lost} …`,
	);
}
