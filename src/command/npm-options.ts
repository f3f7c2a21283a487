/**
 * Throws if an option comes before npm's `--`: npm then takes the option for itself, silently.
 *
 * @param names the options of the script, without hyphens
 */
export function assertNotTakenByNpm(names: readonly string[]): void {
	// Some of npm's own options are set to an empty value.
	const lost = names.find((name) => (process.env[`npm_config_${name.replaceAll('-', '_')}`] ?? '') !== '');
	if (lost === undefined) return;
	const script = process.env.npm_lifecycle_event ?? 'start';
	const command =
		script === 'npx' ? 'npm exec -- runlet' : `${script === 'start' ? 'npm start' : `npm run ${script}`} --`;
	throw new TypeError(
		`--${lost}: npm took this option for itself. Put -- in front of all options: ${command} … --${lost} …`,
	);
}
