/** The modules of single icons. The package has types for its index only, which would load all icons. */
declare module 'lucide/dist/esm/icons/*' {
	/** The shapes of an icon: the tag and the attributes of each. */
	const shapes: readonly (readonly [
		'path' | 'circle' | 'rect' | 'line' | 'polyline' | 'polygon' | 'ellipse',
		Readonly<Record<string, string>>,
	])[];
	export default shapes;
}
