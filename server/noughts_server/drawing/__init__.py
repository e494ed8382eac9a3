"""Pictures that pages, reports and files show: boards and charts as SVG. Nothing else draws them."""
